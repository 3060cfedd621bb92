// The end of a forward transform with what a division does to its result: (a - result) * scalar. The limbs of the
// transform are then neither written nor read again.
#pragma once

#include "backend/gpu/kernels/base_convert_ntt.hpp"
#include "backend/gpu/kernels/pointwise.hpp"

namespace lw::gpu {

struct SubScaleArgs {
  NttArgs ntt;
  Source a;
  Scalars scalars;
};

/// The phases of a transform with a subtraction and a scaling, on full tiles of radix 8: the first passes, and the last
/// one's words on their way to limbs.
template <class A, class Tile>
struct SubScaleTile : UnrolledPhases<Radix8> {
  /// Whether words of a are loaded before the last pass, for which integers have no registers.
  static constexpr bool kIsAhead = A::kArithmetic == Arithmetic::kFp64;
  struct Registers : LimbRegisters<A, Radix8, Tile> {
    Word a[kIsAhead ? Radix8::kWords : 1];
  };

  template <class... Begin>
  static LW_GPU void run_tile(std::uint32_t phase, const SubScaleArgs& args, const Place& place, Shared shared,
                              Registers& registers, const Begin&... begin) noexcept {
    const typename A::Prime& prime = registers.prime;
    const TilePasses<A, A, Radix8, Tile> tile(args.ntt, place, shared, prime);
    const Global<const Word> a = args.a.limb(place.block[2], place.block[1]);
    if constexpr (kIsAhead) {
      if (phase + 2 == UnrolledPhases<Radix8>::kPhases) {
        tile.each_moved([&](std::uint32_t i, std::uint32_t at) { registers.a[i] = load_once(a, at); });
      }
    }
    if (phase + 1 < UnrolledPhases<Radix8>::kPhases) {
      run_for_prime<ForwardPhases<Radix8, Tile>::template Of, A>(typename ButterfliesOf<A, true>::List(), prime, phase,
                                                                 args.ntt, place, shared, registers.held, begin...);
      return;
    }
    const typename A::Value scalar = A::from_word(args.scalars.word[place.block[1]]);
    tile.store([&](std::uint32_t i, std::uint32_t at, Word word) {
      Word from;
      if constexpr (kIsAhead) {
        from = registers.a[i];
      } else {
        from = load_once(a, at);
      }
      return A::to_word(WordOperations<A>::sub_scale(A::from_word(from), A::from_word(word), scalar, prime));
    });
  }
};

/// The last pass, for limbs whose first stages are done.
template <class A>
struct NttSubScale : SubScaleTile<A, FullTile<Radix8>> {
  static constexpr KernelName kName{A::kName, "ntt_sub_scale", Radix8::kName};
  using typename SubScaleTile<A, FullTile<Radix8>>::Registers;
  using Args = SubScaleArgs;

  static LW_GPU std::uint32_t phases(const Args& args) noexcept { return UnrolledPhases<Radix8>::phases(args.ntt); }
  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers& registers) noexcept {
    registers.begin(phase, args.ntt, place);
    SubScaleTile<A, FullTile<Radix8>>::run_tile(phase, args, place, shared, registers);
  }
};

/// All passes, for limbs of a full tile that a base conversion makes.
template <class A>
struct BaseConvertNttSubScale : SubScaleTile<A, LeanTile<Radix8>> {
  static constexpr KernelName kName{A::kName, "base_convert_ntt_sub_scale", Radix8::kName};
  static constexpr std::uint32_t kBlocks = A::kArithmetic == Arithmetic::kFp64 ? 2 : 1;  // 64 registers, or 128
  using typename SubScaleTile<A, LeanTile<Radix8>>::Registers;
  struct Args {
    SubScaleArgs to;
    ConversionJob job;
  };

  static LW_GPU std::uint32_t phases(const Args& args) noexcept { return UnrolledPhases<Radix8>::phases(args.to.ntt); }
  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers& registers) noexcept {
    registers.begin(phase, args.to.ntt, place);
    SubScaleTile<A, LeanTile<Radix8>>::run_tile(phase, args.to, place, shared, registers,
                                                ConvertedTile<A>(args.to.ntt.tables, args.job, place.block[2],
                                                                 args.job.first + place.block[1], registers.prime));
  }
};

}  // namespace lw::gpu
