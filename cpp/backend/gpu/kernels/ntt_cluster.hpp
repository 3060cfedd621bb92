// A transform in one pass over limbs: the blocks of a cluster have a part of a limb each in their shared memory. The
// first stages, whose butterflies take a word of each part, go between limbs and the memory of all blocks; the others
// stay in a block.
#pragma once

#include "backend/gpu/kernels/ntt.hpp"

namespace lw::gpu {

struct RadixOfCluster : Radix8 {
  static constexpr std::uint32_t kThreads = 256;  // each has several butterfly networks in a pass of long limbs
};
inline constexpr std::uint32_t kClusterStages = RadixOfCluster::kStages;  // those across a cluster, in one pass

/// The columns of a block: 2^log_tile words of the limb, from all parts.
struct ColumnsOfCluster {
  static constexpr bool kIsFull = false, kFitsThreads = false;
  static constexpr Ends kStart = Ends::kLimbs, kEnd = Ends::kCluster;
  static LW_GPU std::uint32_t first(const TileShape&) noexcept { return 0; }
  static LW_GPU bool is_end(const TileShape&) noexcept { return false; }
  static LW_GPU std::uint32_t log_size(const TileShape& args) noexcept { return args.log_tile; }
  static LW_GPU std::uint32_t log_run(const TileShape& args) noexcept { return args.log_tile - kClusterStages; }
  static LW_GPU std::uint32_t stages(const TileShape&) noexcept { return kClusterStages; }
};

/// The part of a block.
struct PartOfCluster {
  static constexpr bool kIsFull = false, kFitsThreads = false;
  static constexpr Ends kStart = Ends::kShared, kEnd = Ends::kShared;
  static LW_GPU std::uint32_t first(const TileShape&) noexcept { return kClusterStages; }
  static LW_GPU bool is_end(const TileShape&) noexcept { return true; }
  static LW_GPU std::uint32_t log_size(const TileShape& args) noexcept { return args.log_tile; }
  static LW_GPU std::uint32_t log_run(const TileShape& args) noexcept { return args.log_tile; }
  static LW_GPU std::uint32_t stages(const TileShape& args) noexcept { return args.log_tile; }
};

LW_GPU std::uint32_t num_part_passes(const NttArgs& args) noexcept {
  return num_passes<RadixOfCluster, PartOfCluster>(args);
}

/// A part between limbs and shared memory.
template <class A>
struct ClusterPart : TileWords<A, PartOfCluster> {
  using TileWords<A, PartOfCluster>::TileWords;
  LW_GPU void load() const noexcept {
    for (std::uint32_t l = this->place_.thread; l >> this->log_size() == 0; l += this->place_.threads) {
      this->shared_.store(shared_place(l), this->x_.load(this->limb_place(l)));
    }
  }
  LW_GPU void store() const noexcept {
    for (std::uint32_t l = this->place_.thread; l >> this->log_size() == 0; l += this->place_.threads) {
      this->out_.store(this->limb_place(l), this->shared_.load(shared_place(l)));
    }
  }
};

/// The phases of the forward transform in a cluster: nothing, as not all blocks have begun; the columns; passes over
/// parts; the store to the limbs.
template <class A, class B>
struct ForwardClusterPhases {
  static LW_GPU void run(const typename A::Prime& prime, std::uint32_t phase, const NttArgs& args, const Place& place,
                         Shared shared) noexcept {
    const std::uint32_t end = num_part_passes(args) + 2;
    if (phase == 1) {
      TilePasses<A, B, RadixOfCluster, ColumnsOfCluster>(args, place, shared, prime).forward(0);
    } else if (phase > 1 && phase < end) {
      TilePasses<A, B, RadixOfCluster, PartOfCluster>(args, place, shared, prime).forward(phase - 2);
    } else if (phase == end) {
      ClusterPart<A>(args, place, shared).store();
    }
  }
};

/// The inverse transform; at last nothing, so that no block ends while others read from it.
template <class A, class B>
struct InverseClusterPhases {
  static LW_GPU void run(const typename A::Prime& prime, std::uint32_t phase, const NttArgs& args, const Place& place,
                         Shared shared) noexcept {
    const std::uint32_t columns = num_part_passes(args) + 1;
    if (phase == 0) {
      ClusterPart<A>(args, place, shared).load();
    } else if (phase < columns) {
      TilePasses<A, B, RadixOfCluster, PartOfCluster>(args, place, shared, prime).inverse(columns - 1 - phase);
    } else if (phase == columns) {
      TilePasses<A, B, RadixOfCluster, ColumnsOfCluster>(args, place, shared, prime).inverse(0);
    }
  }
};

struct ClusterPhases {
  static constexpr std::uint32_t kThreads = RadixOfCluster::kThreads, kCluster = 1 << kClusterStages;
  static constexpr std::uint32_t kBlocks = 2;  // 128 registers
  using Args = NttArgs;
  static LW_GPU std::uint32_t phases(const Args& args) noexcept { return num_part_passes(args) + 3; }
};

template <class A>
struct ForwardCluster : ClusterPhases {
  static constexpr KernelName kName{A::kName, "ntt", "cluster"};
  using Registers = LimbPrime<A>;
  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers& registers) noexcept {
    registers.begin(phase, args, place);
    run_for_prime<ForwardClusterPhases, A>(typename ButterfliesOf<A, false>::List(), registers.prime, phase, args,
                                           place, shared);
  }
};

template <class A>
struct InverseCluster : ClusterPhases {
  static constexpr KernelName kName{A::kName, "intt", "cluster"};
  using Registers = LimbPrime<A>;
  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers& registers) noexcept {
    registers.begin(phase, args, place);
    run_for_prime<InverseClusterPhases, A>(typename ButterfliesOf<A, false>::List(), registers.prime, phase, args,
                                           place, shared);
  }
};

}  // namespace lw::gpu
