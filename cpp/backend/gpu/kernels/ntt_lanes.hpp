// Radix 2 with exchanges between lanes: the stages of a tile whose butterflies span at most as many words as lanes work
// together go without shared memory, between passes of one stage and the limbs. A lane holds both words of a butterfly,
// and after each stage gives one of them to the lane whose number differs in one bit.
#pragma once

#include "backend/gpu/kernels/ntt.hpp"

namespace lw::gpu {

struct LaneArgs {
  NttArgs ntt;
  std::uint32_t log_lanes;  // that work together: at most those of a warp

  /// A pass comes before them, so that limbs may be transformed in their place.
  LW_GPU std::uint32_t lane_stages() const noexcept {
    return log_lanes + 2 < ntt.stages ? log_lanes + 1 : ntt.stages - 1;
  }
  /// The number of stages before those by lanes, each of which is a pass.
  LW_GPU std::uint32_t pass_stages() const noexcept { return ntt.stages - lane_stages(); }
};

/// Values that a thread keeps from stage to stage.
template <class A>
struct LaneRegisters : LimbPrime<A> {
  typename A::Value a, b;
  WarpLanes lanes;
};

/// Words that lie together, with the last stages of a transform.
struct PassOfLanes : AnyTile<Radix2> {
  static LW_GPU std::uint32_t first(const TileShape& args) noexcept { return args.first; }
  static LW_GPU bool is_end(const TileShape&) noexcept { return true; }
};

/// The stages by lanes of a tile. Distances and bits are those of word numbers in the tile.
template <class A, class B>
class LaneStages : public TileWords<A, PassOfLanes> {
 public:
  using LimbView = TileWords<A, PassOfLanes>;
  using Prime = typename A::Prime;

  LW_GPU LaneStages(const LaneArgs& args, const Place& place, Shared shared, const Prime& prime,
                    LaneRegisters<A>& held) noexcept
      : LimbView(args.ntt, place, shared), prime_(prime), held_(held) {}

  /// Stage number `stage` of the kernel, whose butterflies span 2^bit words.
  LW_GPU void forward(std::uint32_t stage, std::uint32_t bit) const noexcept {
    const std::uint32_t w = this->twiddle(stage) + (word(bit) >> (bit + 1));
    if (B::reduces_first(this->log_span(stage), prime_)) held_.a = B::reduce(held_.a, prime_);
    typename A::Twiddle twiddle[1];
    this->load_twiddles(twiddle, w);
    B::forward(held_.a, held_.b, twiddle[0], prime_);
    if (bit == 0) {
      held_.a = B::forward_end(held_.a, prime_);
      held_.b = B::forward_end(held_.b, prime_);
    }
  }
  LW_GPU void inverse(std::uint32_t stage, std::uint32_t bit) const noexcept {
    if (this->first_stage() + stage == 0) {
      B::inverse_end(held_.a, held_.b, prime_);
      return;
    }
    const std::uint32_t w = this->twiddle(stage) + (word(bit) >> (bit + 1));
    typename A::Twiddle twiddle[1];
    this->load_twiddles(twiddle, this->inverse_twiddle(stage, w));
    B::inverse(held_.a, held_.b, twiddle[0], prime_);
    if (B::reduces_sums(this->log_span(stage), prime_)) held_.a = B::reduce(held_.a, prime_);
  }

  /// Loads both words of a butterfly from the tile, where they are 2^bit words apart; `load_limb` from the limbs, where
  /// they are adjacent.
  LW_GPU void load(std::uint32_t bit) const noexcept {
    held_.a = A::from_word(this->shared_.load(shared_place(word(bit))));
    held_.b = A::from_word(this->shared_.load(shared_place(word(bit) + (1u << bit))));
  }
  LW_GPU void store(std::uint32_t bit) const noexcept {
    this->shared_.store(shared_place(word(bit)), A::to_word(held_.a));
    this->shared_.store(shared_place(word(bit) + (1u << bit)), A::to_word(held_.b));
  }
  LW_GPU void load_limb() const noexcept {
    held_.a = A::from_word(this->x_.load(this->limb_place(word(0))));
    held_.b = A::from_word(this->x_.load(this->limb_place(word(0) + 1)));
  }
  LW_GPU void store_limb() const noexcept {
    this->out_.store(this->limb_place(word(0)), A::to_word(held_.a));
    this->out_.store(this->limb_place(word(0) + 1), A::to_word(held_.b));
  }

  /// Between stages that span 2^bit words and twice as many, in whichever order: the lane with this bit keeps its
  /// second word.
  LW_GPU void give(std::uint32_t bit) const noexcept {
    held_.lanes.give(A::to_word(is_upper(bit) ? held_.a : held_.b));
  }
  LW_GPU void take(std::uint32_t bit) const noexcept {
    const typename A::Value taken = A::from_word(held_.lanes.take(this->place_, 1u << bit));
    held_.a = is_upper(bit) ? taken : held_.a;
    held_.b = is_upper(bit) ? held_.b : taken;
  }

 private:
  LW_GPU bool is_upper(std::uint32_t bit) const noexcept { return (this->place_.thread >> bit & 1) != 0; }
  /// The first word of this thread where butterflies span 2^bit words.
  LW_GPU std::uint32_t word(std::uint32_t bit) const noexcept {
    const std::uint32_t in_half = this->place_.thread & ((1u << bit) - 1);
    return ((this->place_.thread - in_half) << 1) + in_half;
  }
  const Prime& prime_;
  LaneRegisters<A>& held_;
};

/// Passes, then stages by lanes.
template <class A, class B>
struct ForwardLanePhases {
  static LW_GPU void run(const typename A::Prime& prime, std::uint32_t phase, const LaneArgs& args, const Place& place,
                         Shared shared, LaneRegisters<A>& held) noexcept {
    if (phase < args.pass_stages()) {
      TilePasses<A, B, Radix2, PassOfLanes>(args.ntt, place, shared, prime).forward(phase);
      return;
    }
    const LaneStages<A, B> tile(args, place, shared, prime, held);
    const std::uint32_t bit = args.ntt.stages - 1 - phase;
    if (phase == args.pass_stages()) {
      tile.load(bit);
    } else {
      tile.take(bit);
    }
    tile.forward(phase, bit);
    if (bit == 0) {
      tile.store_limb();
    } else {
      tile.give(bit - 1);
    }
  }
};

/// The inverse transform.
template <class A, class B>
struct InverseLanePhases {
  static LW_GPU void run(const typename A::Prime& prime, std::uint32_t phase, const LaneArgs& args, const Place& place,
                         Shared shared, LaneRegisters<A>& held) noexcept {
    const std::uint32_t stage = args.ntt.stages - 1 - phase, lane_stages = args.lane_stages();
    if (phase >= lane_stages) {
      TilePasses<A, B, Radix2, PassOfLanes>(args.ntt, place, shared, prime).inverse(stage);
      return;
    }
    const LaneStages<A, B> tile(args, place, shared, prime, held);
    const std::uint32_t bit = phase;
    if (bit == 0) {
      tile.load_limb();
    } else {
      tile.take(bit - 1);
    }
    tile.inverse(stage, bit);
    if (phase + 1 == lane_stages) {
      tile.store(bit);
    } else {
      tile.give(bit);
    }
  }
};

template <class A>
struct ForwardLanes {
  static constexpr KernelName kName{A::kName, "ntt", "lanes"};
  static constexpr std::uint32_t kThreads = Radix2::kThreads;
  using Args = LaneArgs;
  using Registers = LaneRegisters<A>;
  static LW_GPU std::uint32_t phases(const Args& args) noexcept { return args.ntt.stages; }
  static LW_GPU bool is_exchange(std::uint32_t phase, const Args& args) noexcept {
    return phase > args.pass_stages() && phase < args.ntt.stages;
  }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers& held) noexcept {
    held.begin(phase, args.ntt, place);
    run_for_prime<ForwardLanePhases, A>(typename ButterfliesOf<A, false>::List(), held.prime, phase, args, place,
                                        shared, held);
  }
};

template <class A>
struct InverseLanes {
  static constexpr KernelName kName{A::kName, "intt", "lanes"};
  static constexpr std::uint32_t kThreads = Radix2::kThreads;
  using Args = LaneArgs;
  using Registers = LaneRegisters<A>;
  static LW_GPU std::uint32_t phases(const Args& args) noexcept { return args.ntt.stages; }
  static LW_GPU bool is_exchange(std::uint32_t phase, const Args& args) noexcept {
    return phase > 0 && phase < args.lane_stages();
  }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers& held) noexcept {
    held.begin(phase, args.ntt, place);
    run_for_prime<InverseLanePhases, A>(typename ButterfliesOf<A, false>::List(), held.prime, phase, args, place,
                                        shared, held);
  }
};

}  // namespace lw::gpu
