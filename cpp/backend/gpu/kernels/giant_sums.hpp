// The inner sums of a linear transform: plaintexts times babies.
#pragma once

#include "backend/gpu/kernels/key_product.hpp"

namespace lw::gpu {

struct GiantTerm {
  const Word* plain;  // over all target limbs
  std::size_t stride;
  std::uint32_t baby;  // 0: P * self
};

/// In a grid of (parts of a row, giants, limbs).
template <class A>
struct GiantSums : OnePhase {
  static constexpr KernelName kName{A::kName, "giant_sums"};
  static constexpr std::uint32_t kThreads = kRowThreads;

  struct Args {
    Tables tables;
    Global<const GiantTerm> terms;       // those of one giant together
    Global<const std::uint32_t> begins;  // of giant g's terms, and the end of all
    Global<const Target> out;            // [giant], over all target limbs
    Source babies;                       // from baby 1 on, both halves of one after the other, over these limbs
    Source self;                         // over the limbs that are not special
    SwitchLimbs where;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    using Value = typename A::Value;
    const SwitchLimbs& where = args.where;
    const std::uint32_t i = word_of(place), giant = place.block[1], limb = place.block[2];
    const std::uint32_t target = where.first + limb;
    const typename A::Prime prime = args.tables.template prime<A>(where.limbs.number[limb]);
    const typename A::SumLimits limits = A::sum_limits(prime);
    typename A::Sum sum0(limits, A::zero()), sum1(limits, A::zero());
    const std::uint32_t end = args.begins.load(giant + 1);
    for (std::uint32_t t = args.begins.load(giant); t < end; ++t) {
      const GiantTerm term = args.terms.load(t);
      Value half0, half1;
      if (term.baby != 0) {
        half0 = A::from_word(args.babies.row(2 * (term.baby - 1), limb).load(i));
        half1 = A::from_word(args.babies.row(2 * (term.baby - 1) + 1, limb).load(i));
      } else if (target >= where.num_special) {
        const Value special = A::from_word(where.special_product.word[limb]);
        half0 = A::mul(A::from_word(args.self.row(0, target - where.num_special).load(i)), special, prime);
        half1 = A::mul(A::from_word(args.self.row(1, target - where.num_special).load(i)), special, prime);
      } else {
        continue;  // P * self is zero there
      }
      const Value plain = A::from_word((Global(term.plain) + target * term.stride).load(i));
      sum0.add(plain, half0, limits, prime);
      sum1.add(plain, half1, limits, prime);
    }
    const Target out = args.out.load(giant);
    out.row(0, target).store(i, A::to_word(sum0.value(limits, prime)));
    out.row(1, target).store(i, A::to_word(sum1.value(limits, prime)));
  }
};

}  // namespace lw::gpu
