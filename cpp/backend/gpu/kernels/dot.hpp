// Sums of products of limbs.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"
#include "backend/gpu/kernels/sums.hpp"

namespace lw::gpu {

template <class A>
struct Dot : OnePhase {
  static constexpr KernelName kName{A::kName, "dot"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Term {
    Source a, b;
  };
  struct Args {
    Tables tables;
    Target out;
    Global<const Term> terms;
    std::uint32_t num_terms;
    LimbNumbers limbs;
  };

  /// Adds up the products, two words to a thread.
  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place), j = place.block[1], poly = place.block[2];
    const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
    Sums<A, 2> sums(A::sum_limits(prime));
    sums.add(args.num_terms, prime, [&](std::uint32_t t, auto& sum) {
      const Term term = args.terms.load(t);
      const WordPair a = pairs_of(term.a.limb(poly, j)).load(i), b = pairs_of(term.b.limb(poly, j)).load(i);
      LW_GPU_UNROLL
      for (std::uint32_t e = 0; e < 2; ++e) sum[e].add(A::from_word(a.word[e]), A::from_word(b.word[e]));
    });
    pairs_of(args.out.limb(poly, j)).store(i, {A::to_word(sums.value(0, prime)), A::to_word(sums.value(1, prime))});
  }
};

}  // namespace lw::gpu
