#include <algorithm>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"

namespace lw::cpu {
namespace {

constexpr std::size_t kLeastHalf = 32;  // words that the vectors of all instruction sets divide

/// Some terms of one half of a limb.
struct HalfTerms {
  std::size_t count;
  const Word* limbs[kMostAliasedTerms];
  double weights[kMostAliasedTerms];  // centred
};

/// to = begin + the sum; begin may be null, or to.
void add_half(const CpuQueue& queue, Word* to, const HalfTerms& terms, const Word* begin, std::size_t size,
              const Prime& prime) noexcept {
  // A single limb without a beginning needs no accumulator.
  const Accumulator accumulator = product_accumulator(terms.count, prime.q);
  if (size >= kLeastHalf) {
    queue.limb.join(to, terms.limbs, terms.weights, terms.count, begin, 1, accumulator, size, prime);
    return;
  }
  // Halves shorter than the vectors of a sum: with zeros behind.
  Word padded[kMostAliasedTerms][kLeastHalf] = {}, first[kLeastHalf] = {}, sum[kLeastHalf];
  const Word* limbs[kMostAliasedTerms];
  for (std::size_t t = 0; t < terms.count; ++t) {
    std::copy_n(terms.limbs[t], size, padded[t]);
    limbs[t] = padded[t];
  }
  if (begin != nullptr) std::copy_n(begin, size, first);
  queue.limb.join(sum, limbs, terms.weights, terms.count, begin == nullptr ? nullptr : first, 1, accumulator,
                  kLeastHalf, prime);
  std::copy_n(sum, size, to);
}

}  // namespace

void weighted_sum(Queue& q, LimbView out, std::span<const ConstLimbView> a, std::span<const Word> weights) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const std::size_t size = queue.degree / 2, limbs = out.limbs.size();
  queue.for_limbs(out, queue.degree * (1 + a.size() / 2), [&](std::size_t poly, std::size_t j) {
    const Modulus& m = queue.moduli[out.limbs[j]];
    for (std::size_t half = 0; half < 2; ++half) {
      Word* const to = out.limb(poly, j) + half * size;
      for (std::size_t first = 0; first < a.size(); first += kMostAliasedTerms) {
        HalfTerms terms;
        terms.count = std::min(kMostAliasedTerms, a.size() - first);
        for (std::size_t t = 0; t < terms.count; ++t) {
          terms.limbs[t] = a[first + t].limb(poly, j) + half * size;
          terms.weights[t] = static_cast<double>(m.centred(weights[2 * ((first + t) * limbs + j) + half]));
        }
        add_half(queue, to, terms, first == 0 ? nullptr : to, size, queue.ntt[out.limbs[j]].prime);
      }
    }
  });
}

}  // namespace lw::cpu
