// Transforms as they are written down: a kernel for each stage, and a thread for each butterfly, through global memory.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"

namespace lw::gpu {

struct StageArgs {
  Tables tables;
  Target out;
  Source x;
  std::uint32_t stage;  // numbered as those of the forward transform
  LimbNumbers limbs;
};

/// The butterfly of a thread, in a grid as for half a limb.
template <class A>
struct StageButterfly {
  LW_GPU StageButterfly(const StageArgs& args, const Place& place) noexcept
      : prime(args.tables.template prime<A>(args.limbs.number[place.block[1]])),
        twiddles(args.tables.template twiddles_of<A>(args.limbs.number[place.block[1]])),
        half(std::uint32_t{1} << (args.tables.log_degree - 1 - args.stage)),
        block(word_of(place) >> (args.tables.log_degree - 1 - args.stage)),
        first(word_of(place) + block * half) {
    const Global<const Word> x = args.x.limb(place.block[2], place.block[1]) + first;
    a = A::from_word(x.load(0));
    b = A::from_word(x.load(half));
  }
  LW_GPU void store(const StageArgs& args, const Place& place) const noexcept {
    const Global<Word> out = args.out.limb(place.block[2], place.block[1]) + first;
    out.store(0, A::to_word(a));
    out.store(half, A::to_word(b));
  }

  const typename A::Prime prime;
  const Global<const typename A::Twiddle> twiddles;
  const std::uint32_t half, block, first;  // words between its operands, its block in the stage, its first operand
  typename A::Value a, b;
};

template <class A>
struct ForwardStage : OnePhase {
  static constexpr KernelName kName{A::kName, "ntt", "stage"};
  static constexpr std::uint32_t kThreads = kLimbThreads;
  using Args = StageArgs;

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    StageButterfly<A> it(args, place);
    if (A::reduces_first(args.tables.log_degree - 1 - args.stage, it.prime)) it.a = A::reduce(it.a, it.prime);
    A::forward(it.a, it.b, it.twiddles.load((std::uint32_t{1} << args.stage) + it.block), it.prime);
    if (args.stage + 1 == args.tables.log_degree) {
      it.a = A::forward_end(it.a, it.prime);
      it.b = A::forward_end(it.b, it.prime);
    }
    it.store(args, place);
  }
};

template <class A>
struct InverseStage : OnePhase {
  static constexpr KernelName kName{A::kName, "intt", "stage"};
  static constexpr std::uint32_t kThreads = kLimbThreads;
  using Args = StageArgs;

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    StageButterfly<A> it(args, place);
    if (args.stage == 0) {
      A::inverse_end(it.a, it.b, it.prime);
    } else {
      A::inverse(it.a, it.b, it.twiddles.load((std::uint32_t{2} << args.stage) - 1 - it.block), it.prime);
      if (A::reduces_sums(args.tables.log_degree - 1 - args.stage, it.prime)) it.a = A::reduce(it.a, it.prime);
    }
    it.store(args, place);
  }
};

}  // namespace lw::gpu
