#include "backend/gpu/entries.hpp"
#include "backend/gpu/launch.hpp"

namespace lw::gpu {
namespace {

/// out = op(a, b, out, scalar); an operation leaves alone what it does not read.
template <class A, class Op>
void apply(Queue& q, const LimbView& out, const ConstLimbView& a, const ConstLimbView& b,
           std::span<const Word> scalars = {}) noexcept {
  using Kernel = Pointwise<A, Op>;
  GpuQueue& queue = gpu_queue(q);
  typename Kernel::Args args = {queue.tables(), result(out), operand(a), operand(b), numbers_of(out.limbs), {}};
  if constexpr (Op::kReads.scalar) {
    for (std::size_t j = 0; j < scalars.size(); ++j) {
      args.scalars.word[j] = scalar_of<A>(queue, out.limbs[j], scalars[j]);
    }
  }
  queue.launch<Kernel>(args, limb_grid(queue, out));
}

template <class A, class Op>
void apply(Queue& q, const LimbView& out, const ConstLimbView& a, std::span<const Word> scalars = {}) noexcept {
  apply<A, Op>(q, out, a, a, scalars);
}

/// Zero but for one word, or none.
template <class A>
void single_word(Queue& q, const LimbView& out, std::uint32_t place, bool is_negative) noexcept {
  GpuQueue& queue = gpu_queue(q);
  queue.launch<Monomial<A>>({queue.tables(), result(out), numbers_of(out.limbs), place, is_negative},
                            limb_grid(queue, out));
}

}  // namespace

template <class A>
void LimbEntries<A>::copy(Queue& q, LimbView out, ConstLimbView x) noexcept {
  apply<A, CopyOp>(q, out, x);
}

template <class A>
void LimbEntries<A>::zero(Queue& q, LimbView out) noexcept {
  single_word<A>(q, out, gpu_queue(q).tables().degree(), false);
}

template <class A>
void LimbEntries<A>::monomial(Queue& q, LimbView out, std::uint64_t exponent) noexcept {
  const std::uint64_t degree = degree_of(gpu_queue(q));
  single_word<A>(q, out, static_cast<std::uint32_t>(exponent % degree), exponent >= degree);
}

#define LW_POINTWISE(name, parameters, arguments) \
  template <class A>                              \
  void LimbEntries<A>::name parameters noexcept { \
    apply<A, operations::name> arguments;         \
  }
#include "backend/kernels.def"

template <class A>
void LimbEntries<A>::tensor_product(Queue& q, LimbView out, ConstLimbView a, ConstLimbView b) noexcept {
  GpuQueue& queue = gpu_queue(q);
  queue.launch<TensorProduct<A>>({queue.tables(), result(out), operand(a), operand(b), numbers_of(out.limbs)},
                                 limb_grid(degree_of(queue), out.limbs.size(), 1));
}

template <class A>
void LimbEntries<A>::dot(Queue& q, LimbView out, std::span<const ConstLimbView> a,
                         std::span<const ConstLimbView> b) noexcept {
  using Term = typename Dot<A>::Term;
  GpuQueue& queue = gpu_queue(q);
  Staging staging(queue);
  const auto terms = staging.put<Term>(a.size(), [&](std::size_t t) { return Term{operand(a[t]), operand(b[t])}; });
  queue.launch<Dot<A>>(
      {queue.tables(), result(out), terms, static_cast<std::uint32_t>(a.size()), numbers_of(out.limbs)},
      limb_grid(degree_of(queue) / 2, out.limbs.size(), out.polys));
}

template <class A>
void LimbEntries<A>::weighted_sum(Queue& q, LimbView out, std::span<const ConstLimbView> a,
                                  std::span<const Word> weights) noexcept {
  GpuQueue& queue = gpu_queue(q);
  Staging staging(queue);
  const std::size_t limbs = out.limbs.size();
  const auto terms = staging.put<Source>(a.size(), [&](std::size_t t) { return operand(a[t]); });
  const auto factors = staging.put<Word>(
      weights.size(), [&](std::size_t k) { return scalar_of<A>(queue, out.limbs[k / 2 % limbs], weights[k]); });
  queue.launch<WeightedSum<A>>({queue.tables(), result(out), terms, factors, static_cast<std::uint32_t>(a.size()),
                                static_cast<std::uint32_t>(limbs), numbers_of(out.limbs)},
                               limb_grid(degree_of(queue) / 2, limbs, out.polys));
}

template <class A>
void LimbEntries<A>::integer_matmul(Queue& q, std::span<const LimbView> out, std::span<const ConstLimbView> a,
                                    std::span<const std::int32_t> weights) noexcept {
  if (out.empty()) return;
  GpuQueue& queue = gpu_queue(q);
  Staging staging(queue);
  const std::span<const std::uint16_t> limbs = out[0].limbs;
  const std::size_t rows = out.size(), blocks = (rows + kMatmulRows - 1) / kMatmulRows;
  const auto targets = staging.put<Target>(rows, [&](std::size_t r) { return result(out[r]); });
  const auto terms = staging.put<Source>(a.size(), [&](std::size_t t) { return operand(a[t]); });
  const auto factors = staging.put<Word>(limbs.size() * blocks * a.size() * kMatmulRows, [&](std::size_t k) {
    const std::size_t t = k / kMatmulRows % a.size(), block = k / kMatmulRows / a.size();
    const std::size_t row = block % blocks * kMatmulRows + k % kMatmulRows;
    const std::uint16_t limb = limbs[block / blocks];
    const std::int64_t weight = row < rows ? weights[t * rows + row] : 0;
    return scalar_of<A>(queue, limb, queue.moduli()[limb].from_signed(weight));
  });
  queue.launch<IntegerMatmul<A>>({queue.tables(), targets, terms, factors, static_cast<std::uint32_t>(rows),
                                  static_cast<std::uint32_t>(a.size()), out[0].polys, numbers_of(limbs)},
                                 limb_grid(degree_of(queue) / 2, limbs.size(), blocks * out[0].polys));
}

template <class A>
void LimbEntries<A>::automorphism(Queue& q, LimbView out, ConstLimbView a, std::uint64_t galois_element) noexcept {
  GpuQueue& queue = gpu_queue(q);
  queue.launch<Automorphism>(
      {result(out), operand(a), static_cast<std::uint32_t>(galois_element), queue.tables().log_degree},
      limb_grid(queue, out));
}

template struct LimbEntries<Fp64>;
template struct LimbEntries<U64>;

}  // namespace lw::gpu
