// Sums of products of rows.
#pragma once

#include "backend/gpu/kernels/rows.hpp"

namespace lw::gpu {

template <class A>
struct Dot : OnePhase {
  static constexpr KernelName kName{A::kName, "dot"};
  static constexpr std::uint32_t kThreads = kRowThreads;

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

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place), j = place.block[1], poly = place.block[2];
    const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
    const typename A::SumLimits limits = A::sum_limits(prime);
    typename A::Sum sum(limits, A::zero());
    for (std::uint32_t t = 0; t < args.num_terms; ++t) {
      const Term term = args.terms.load(t);
      sum.add(A::from_word(term.a.row(poly, j).load(i)), A::from_word(term.b.row(poly, j).load(i)), limits, prime);
    }
    args.out.row(poly, j).store(i, A::to_word(sum.value(limits, prime)));
  }
};

}  // namespace lw::gpu
