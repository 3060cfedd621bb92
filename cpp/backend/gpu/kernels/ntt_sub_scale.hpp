// The end of a forward transform with what a division does to its result: (a - result) * scalar. The rows of the
// transform are then neither written nor read again.
#pragma once

#include "backend/gpu/kernels/ntt.hpp"
#include "backend/gpu/kernels/pointwise.hpp"

namespace lw::gpu {

/// On full tiles.
template <class A, class Radix>
struct NttSubScale {
  static constexpr KernelName kName{A::kName, "ntt_sub_scale", Radix::kName};
  static constexpr std::uint32_t kThreads = Radix::kThreads;
  static constexpr std::uint32_t kPhases = UnrolledPhases<Radix>::kPhases;
  using Registers = RowPrime<A>;
  using Tile = FullTile<Radix>;

  struct Args {
    NttArgs ntt;
    Source a;
    Scalars scalars;
  };

  static LW_GPU std::uint32_t phases(const Args& args) noexcept { return UnrolledPhases<Radix>::phases(args.ntt); }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers& registers) noexcept {
    registers.begin(phase, args.ntt, place);
    if (phase + 1 < kPhases) {
      run_for_prime<ForwardPhases<Radix, Tile>::template Of, A>(typename ButterfliesOf<A, true>::List(),
                                                                registers.prime, phase, args.ntt, place, shared);
      return;
    }
    const typename A::Prime& prime = registers.prime;
    const Global<const Word> a = args.a.row(place.block[2], place.block[1]);
    const typename A::Value scalar = A::from_word(args.scalars.word[place.block[1]]);
    TilePasses<A, A, Radix, Tile>(args.ntt, place, shared, prime).store([&](std::uint32_t i, Word word) {
      const typename A::Value found = A::from_word(word);
      return A::to_word(SubScaleOp::result<A>(A::from_word(a.load(i)), found, A::zero(), scalar, prime));
    });
  }
};

}  // namespace lw::gpu
