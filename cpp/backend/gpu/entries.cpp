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
#define LW_LIMB(result, name, parameters) .name = LimbEntries<A>::name,
#define LW_TRANSFORM(result, name, parameters) .name = TransformEntries<A>::name,
#define LW_CONVERSION(result, name, parameters) .name = ConversionEntries<A>::name,
#define LW_SWITCH(result, name, parameters) .name = SwitchEntries<A>::name,
#define LW_RESIDUE(result, name, parameters) .name = ResidueEntries<A>::name,
#define LW_KERNEL(result, name, parameters) .name = name,
#include "backend/kernels.def"
};

}  // namespace

const lw::Kernels& entries_of(Arithmetic arithmetic) noexcept {
  return arithmetic == Arithmetic::kFp64 ? kEntries<Fp64> : kEntries<U64>;
}

}  // namespace lw::gpu
