#include <algorithm>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"

namespace lw::cpu {
namespace {

constexpr std::size_t kAtOnce = 64;  // terms; longer sums go on from what is stored
constexpr std::size_t kDotTile = 2048;

inline const Word* operand(const ConstLimbView& a, std::size_t poly, std::size_t j) noexcept {
  return a.limb(a.polys == 1 ? 0 : poly, j);
}

}  // namespace

void dot(Queue& q, LimbView out, std::span<const ConstLimbView> a, std::span<const ConstLimbView> b) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const std::size_t tile = std::min<std::size_t>(kDotTile, queue.degree);
  queue.for_limbs(out, queue.degree * (1 + a.size() / 2), [&](std::size_t poly, std::size_t j) {
    const Prime& prime = queue.ntt[out.limbs[j]].prime;
    const Accumulator accumulator = product_accumulator(std::min(a.size(), kAtOnce), prime.q);
    for (std::size_t start = 0; start < queue.degree; start += tile) {
      Word* to = out.limb(poly, j) + start;
      for (std::size_t first = 0; first < a.size(); first += kAtOnce) {
        DotTerm terms[kAtOnce];
        const std::size_t count = std::min(kAtOnce, a.size() - first);
        for (std::size_t t = 0; t < count; ++t) {
          terms[t] = {operand(a[first + t], poly, j) + start, operand(b[first + t], poly, j) + start};
        }
        queue.limb.dot(to, terms, count, first == 0 ? nullptr : to, accumulator, tile, prime);
      }
    }
  });
}

}  // namespace lw::cpu
