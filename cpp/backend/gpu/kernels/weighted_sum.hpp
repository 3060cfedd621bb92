// Sums of limbs times integers, others on the first half of a limb than on the second.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"
#include "backend/gpu/kernels/sums.hpp"

namespace lw::gpu {

template <class A>
struct WeightedSum : OnePhase {
  static constexpr KernelName kName{A::kName, "weighted_sum"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Tables tables;
    Target out;
    Global<const Source> terms;
    Global<const Word> weights;  // [term][limb][half], at rest
    std::uint32_t num_terms, num_limbs;
    LimbNumbers limbs;
  };

  /// Adds up the products, two words to a thread.
  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place), j = place.block[1], poly = place.block[2];
    const std::uint32_t half = i >> (args.tables.log_degree - 2) != 0 ? 1 : 0;  // of pairs
    const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
    Sums<A, 2> sums(A::sum_limits(prime));
    sums.add(args.num_terms, prime, [&](std::uint32_t t, auto& sum) {
      const typename A::Value weight = A::from_word(args.weights.load(2 * (t * args.num_limbs + j) + half));
      const WordPair a = pairs_of(args.terms.load(t).limb(poly, j)).load(i);
      LW_GPU_UNROLL
      for (std::uint32_t e = 0; e < 2; ++e) sum[e].add(A::from_word(a.word[e]), weight);
    });
    pairs_of(args.out.limb(poly, j)).store(i, {A::to_word(sums.value(0, prime)), A::to_word(sums.value(1, prime))});
  }
};

}  // namespace lw::gpu
