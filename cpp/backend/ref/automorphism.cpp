#include "backend/ref/kernels.hpp"
#include "backend/ref/queue.hpp"

namespace lw::ref {

void automorphism(Queue& q, LimbView out, ConstLimbView a, std::uint64_t galois_element) noexcept {
  constexpr std::size_t kCycles = 3;
  RefQueue& queue = ref_queue(q);
  // x(X^g) takes at psi^e the value that x takes at psi^(e g): a permutation of positions, the same for all limbs.
  queue.for_limbs(out, kCycles, [&](std::size_t poly, std::size_t j) {
    const std::uint32_t* bit_reversal = queue.bit_reversal.data();
    const std::uint32_t g = static_cast<std::uint32_t>(galois_element);
    const Word* from = a.limb(a.polys == 1 ? 0 : poly, j);
    Word* to = out.limb(poly, j);
    for (std::uint32_t i = 0; i < queue.degree; ++i) {
      const std::uint32_t exponent = (2 * bit_reversal[i] + 1) * g;
      to[i] = from[bit_reversal[exponent / 2 & (queue.degree - 1)]];
    }
  });
}

}  // namespace lw::ref
