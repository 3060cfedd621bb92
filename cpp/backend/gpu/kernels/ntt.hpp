// Negacyclic transforms by passes, a tile of each limb at a time: stages whose butterflies span more than a tile in one
// kernel on columns, the rest in another on words that lie together.
#pragma once

#include <type_traits>

#include "backend/gpu/kernels/ntt_passes.hpp"
#include "backend/gpu/small_primes.hpp"

namespace lw::gpu {

/// Runs Phases<A, B>, where B is the first of the butterflies that takes the prime.
template <template <class, class> class Phases, class A, class B, class... Others, class... Operands>
LW_GPU void run_for_prime(ButterflyKinds<B, Others...>, const typename A::Prime& prime,
                          Operands&&... operands) noexcept {
  if constexpr (sizeof...(Others) > 0) {
    if (!B::takes(prime)) return run_for_prime<Phases, A>(ButterflyKinds<Others...>(), prime, operands...);
  }
  Phases<A, B>::run(prime, operands...);
}

/// Values that a thread keeps for its limb.
template <class A>
struct LimbPrime {
  typename A::Prime prime;

  LW_GPU void begin(std::uint32_t phase, const NttArgs& args, const Place& place) noexcept {
    if (phase == 0) prime = args.tables.template prime<A>(args.limbs.number[place.block[1]]);
  }
};
template <class A, class Radix, class Tile>
struct LimbRegisters : LimbPrime<A> {
  HeldOf<A, Radix, Tile> held;
};

/// begin: as TilePasses::forward takes it, for limbs that are nowhere yet.
template <class Radix, class Tile>
struct ForwardPhases {
  template <class A, class B>
  struct Of {
    template <class... Begin>
    static LW_GPU void run(const typename A::Prime& prime, std::uint32_t phase, const NttArgs& args, const Place& place,
                           Shared shared, HeldOf<A, Radix, Tile>& held, const Begin&... begin) noexcept {
      const TilePasses<A, B, Radix, Tile> tile(args, place, shared, prime);
      if (phase < num_passes<Radix, Tile>(args)) {
        tile.forward(phase, held, begin...);
      } else {
        tile.store();
      }
    }
  };
};

template <class Radix, class Tile>
struct InversePhases {
  template <class A, class B>
  struct Of {
    static LW_GPU void run(const typename A::Prime& prime, std::uint32_t phase, const NttArgs& args, const Place& place,
                           Shared shared, HeldOf<A, Radix, Tile>& held) noexcept {
      const TilePasses<A, B, Radix, Tile> tile(args, place, shared, prime);
      if (Tile::kIsFull && phase == 0) {
        tile.hold_last(held);
        tile.load();
      } else {
        tile.inverse(num_passes<Radix, Tile>(args) - 1 - (phase - Tile::kIsFull), held);
      }
    }
  };
};

/// The common part of both directions: a pass in each phase, and one more phase if words do not go between limbs and
/// registers at the end where those of a thread lie together.
template <class Radix, class Tile>
struct NttPhases {
  static constexpr std::uint32_t kThreads = Radix::kThreads;
  using Args = NttArgs;
  static LW_GPU std::uint32_t phases(const NttArgs& args) noexcept {
    return num_passes<Radix, Tile>(args) + Tile::kIsFull;
  }
};
template <class Radix>
struct UnrolledPhases : NttPhases<Radix, FullTile<Radix>> {
  static constexpr std::uint32_t kPhases = Radix::kLogTile / Radix::kStages + 1;
};
template <class Radix, class Tile>
using PhasesOf = std::conditional_t<Tile::kIsFull, UnrolledPhases<Radix>, NttPhases<Radix, Tile>>;

template <class A, class Radix, class Tile>
struct ForwardNtt : PhasesOf<Radix, Tile> {
  static constexpr KernelName kName{A::kName, "ntt", Radix::kName, Tile::kName};
  using Registers = LimbRegisters<A, Radix, Tile>;

  static LW_GPU void run(std::uint32_t phase, const NttArgs& args, const Place& place, Shared shared,
                         Registers& registers) noexcept {
    registers.begin(phase, args, place);
    run_for_prime<ForwardPhases<Radix, Tile>::template Of, A>(
        typename ButterfliesOf<A, Tile::kIsFull>::List(), registers.prime, phase, args, place, shared, registers.held);
  }
};

template <class A, class Radix, class Tile>
struct InverseNtt : PhasesOf<Radix, Tile> {
  static constexpr KernelName kName{A::kName, "intt", Radix::kName, Tile::kName};
  using Registers = LimbRegisters<A, Radix, Tile>;

  static LW_GPU void run(std::uint32_t phase, const NttArgs& args, const Place& place, Shared shared,
                         Registers& registers) noexcept {
    registers.begin(phase, args, place);
    run_for_prime<InversePhases<Radix, Tile>::template Of, A>(
        typename ButterfliesOf<A, Tile::kIsFull>::List(), registers.prime, phase, args, place, shared, registers.held);
  }
};

}  // namespace lw::gpu
