#include "backend/gpu/entries.hpp"

#include "backend/embedding.hpp"
#include "backend/gpu/queue.hpp"

namespace lw::gpu {
namespace {

// The host's: its floating-point operations decide the bits of encodings.
void embed(Queue& q, std::span<std::complex<double>> values) noexcept {
  embed_values(static_cast<GpuQueue&>(q).roots(), values);
}
void unembed(Queue& q, std::span<std::complex<double>> values) noexcept {
  unembed_values(static_cast<GpuQueue&>(q).roots(), values);
}

template <class A>
constexpr lw::Kernels kEntries = {
    .ntt = TransformEntries<A>::ntt,
    .intt = TransformEntries<A>::intt,
    .copy = RowEntries<A>::copy,
    .zero = RowEntries<A>::zero,
    .monomial = RowEntries<A>::monomial,
    .add = RowEntries<A>::add,
    .sub = RowEntries<A>::sub,
    .neg = RowEntries<A>::neg,
    .mul = RowEntries<A>::mul,
    .mul_add = RowEntries<A>::mul_add,
    .tensor = RowEntries<A>::tensor,
    .mul_scalar = RowEntries<A>::mul_scalar,
    .add_scalar = RowEntries<A>::add_scalar,
    .sub_scale = RowEntries<A>::sub_scale,
    .dot = RowEntries<A>::dot,
    .automorphism = RowEntries<A>::automorphism,
    .lift = LiftEntries<A>::lift,
    .key_switch = SwitchEntries<A>::key_switch,
    .diag_sums = SwitchEntries<A>::diag_sums,
    .mod_down = SwitchEntries<A>::mod_down,
    .key_switch_scratch = SwitchEntries<A>::key_switch_scratch,
    .diag_sums_scratch = SwitchEntries<A>::diag_sums_scratch,
    .mod_down_scratch = SwitchEntries<A>::mod_down_scratch,
    .import_signed = ResidueEntries<A>::import_signed,
    .import_integers = ResidueEntries<A>::import_integers,
    .ntt_integers =
        [](Queue& q, Rows out, const IntegerRow& in) noexcept {
          ResidueEntries<A>::import_integers(q, out, in);
          TransformEntries<A>::ntt(q, out, out);
        },
    .import_residues = ResidueEntries<A>::import_residues,
    .export_residues = ResidueEntries<A>::export_residues,
    .expand_uniform = ResidueEntries<A>::expand_uniform,
    .import_seeded = ResidueEntries<A>::import_seeded,
    .embed = embed,
    .unembed = unembed,
};

}  // namespace

const lw::Kernels& entries_of(Arithmetic arithmetic) noexcept {
  return arithmetic == Arithmetic::kFp64 ? kEntries<Fp64> : kEntries<U64>;
}

}  // namespace lw::gpu
