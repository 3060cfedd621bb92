// The inner sums of a linear transform: plaintexts times babies.
#pragma once

#include "backend/gpu/kernels/key_product.hpp"

namespace lw::gpu {

struct GiantTerm {
  const Word* plain;  // over all target limbs
  std::size_t stride;
  std::uint32_t baby;  // 0: P * self
};

/// The kernel of the inner sums of giant steps, in a grid of (parts of a limb, giants, limbs), two words to a thread.
template <class A>
struct GiantSums : OnePhase {
  static constexpr KernelName kName{A::kName, "giant_sums"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

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
    const SwitchLimbs& where = args.where;
    const std::uint32_t i = word_of(place), giant = place.block[1], limb = place.block[2];
    const std::uint32_t target = where.first + limb, begin = args.begins.load(giant);
    const typename A::Prime prime = args.tables.template prime<A>(where.limb[limb]);
    Sums<A, 4> sums(A::sum_limits(prime));  // two of each half
    sums.add(args.begins.load(giant + 1) - begin, prime, [&](std::uint32_t t, auto& sum) {
      const GiantTerm term = args.terms.load(begin + t);
      const bool is_self = term.baby == 0;
      if (is_self && target < where.num_special) return;  // P * self is zero there
      const WordPair plain = load_once(pairs_of(Global(term.plain) + target * term.stride), i);
      LW_GPU_UNROLL
      for (std::uint32_t half = 0; half < 2; ++half) {
        const Global<const Word> baby = is_self ? args.self.limb(half, target - where.num_special)
                                                : args.babies.limb(2 * (term.baby - 1) + half, limb);
        const WordPair x = pairs_of(baby).load(i);
        LW_GPU_UNROLL
        for (std::uint32_t e = 0; e < 2; ++e) {
          typename A::Value factor = A::from_word(x.word[e]);
          if (is_self) factor = A::mul(factor, A::from_word(where.special_product[limb]), prime);
          sum[2 * half + e].add(A::from_word(plain.word[e]), factor);
        }
      }
    });
    const Target out = args.out.load(giant);
    LW_GPU_UNROLL
    for (std::uint32_t half = 0; half < 2; ++half) {
      pairs_of(out.limb(half, target))
          .store(i, {A::to_word(sums.value(2 * half, prime)), A::to_word(sums.value(2 * half + 1, prime))});
    }
  }
};

}  // namespace lw::gpu
