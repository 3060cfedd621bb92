// Negacyclic transforms, a tile of each row at a time: stages whose butterflies span more than a tile in one kernel on
// columns, the rest in another on words that lie together. Passes of three stages in registers meet in shared memory.
#pragma once

#include "backend/gpu/kernels/rows.hpp"

namespace lw::gpu {

inline constexpr std::uint32_t kLogNttTile = 11;
inline constexpr std::uint32_t kPassStages = 3;

/// Some stages of a transform, numbered as those of the forward one.
struct NttArgs {
  Tables tables;
  Target out;
  Source x;
  std::uint32_t first, stages;
  std::uint32_t log_tile;
  std::uint32_t log_run;  // words of a tile that lie together; the runs of one are evenly spaced in the row
  LimbNumbers limbs;

  LW_GPU std::uint32_t passes() const noexcept { return (stages + kPassStages - 1) / kPassStages; }
};

/// Where word l of a tile is in shared memory: spread out, so that threads with steps of eight find other banks.
LW_GPU std::uint32_t shared_place(std::uint32_t l) noexcept { return l + (l >> 4); }
inline std::uint32_t ntt_shared_words(std::uint32_t log_tile) noexcept {
  return shared_place((std::uint32_t{1} << log_tile) - 1) + 1;
}

/// One block's tile, and its passes over it.
template <class A>
class NttTile {
 public:
  using Value = typename A::Value;
  static constexpr std::uint32_t kSize = 1 << kPassStages;

  LW_GPU NttTile(const NttArgs& args, const Place& place, Shared shared) noexcept
      : args_(args),
        place_(place),
        shared_(shared),
        prime_(args.tables.template prime<A>(args.limbs.number[place.block[1]])),
        twiddles_(args.tables.template twiddles_of<A>(args.limbs.number[place.block[1]])),
        x_(args.x.row(place.block[2], place.block[1])),
        out_(args.out.row(place.block[2], place.block[1])) {}

  /// Between rows and shared memory, with the threads of a warp side by side.
  LW_GPU void load() const noexcept {
    for (std::uint32_t l = place_.thread; l < size(); l += place_.threads) {
      shared_.store(shared_place(l), x_.load(row_place(l)));
    }
  }
  LW_GPU void store() const noexcept {
    const bool is_end = args_.first + args_.stages == args_.tables.log_degree;
    for (std::uint32_t l = place_.thread; l < size(); l += place_.threads) {
      const Value x = A::from_word(shared_.load(shared_place(l)));
      out_.store(row_place(l), A::to_word(is_end ? A::forward_end(x, prime_) : x));
    }
  }

  /// Pass number `pass` of a forward transform; the first reads rows.
  LW_GPU void forward(std::uint32_t pass) const noexcept {
    const std::uint32_t from = pass * kPassStages;
    if (args_.stages - from >= 3) {
      forward_pass<3>(from);
    } else if (args_.stages - from == 2) {
      forward_pass<2>(from);
    } else {
      forward_pass<1>(from);
    }
  }
  /// The same backwards: pass 0 is the last, and writes rows.
  LW_GPU void inverse(std::uint32_t pass) const noexcept {
    const std::uint32_t from = pass * kPassStages;
    if (args_.stages - from >= 3) {
      inverse_pass<3>(from);
    } else if (args_.stages - from == 2) {
      inverse_pass<2>(from);
    } else {
      inverse_pass<1>(from);
    }
  }

 private:
  LW_GPU std::uint32_t size() const noexcept { return std::uint32_t{1} << args_.log_tile; }
  /// Of word l of the tile in its row.
  LW_GPU std::uint32_t row_place(std::uint32_t l) const noexcept {
    const std::uint32_t run = l >> args_.log_run, in_run = l & ((std::uint32_t{1} << args_.log_run) - 1);
    return (place_.block[0] << args_.log_run) + (run << (args_.tables.log_degree - args_.stages)) + in_run;
  }

  /// The words of one butterfly network of kStages stages, from stage `from` of this kernel on.
  template <std::uint32_t kStages>
  struct Group {
    LW_GPU Group(const NttTile& tile, std::uint32_t from, std::uint32_t number) noexcept
        : log_step(tile.args_.log_tile - from - kStages),
          block(number >> log_step),
          first((block << (log_step + kStages)) + (number & ((std::uint32_t{1} << log_step) - 1))) {}
    LW_GPU std::uint32_t word(std::uint32_t i) const noexcept { return first + (i << log_step); }

    std::uint32_t log_step, block, first;
  };
  template <std::uint32_t kStages>
  LW_GPU std::uint32_t groups() const noexcept {
    return std::uint32_t{1} << (args_.log_tile - kStages);
  }
  /// The block number in its stage, number `stage` of this kernel, of block 0 of the tile. Tiles of columns have all
  /// blocks in common.
  LW_GPU std::uint32_t first_block(std::uint32_t stage) const noexcept {
    return args_.first == 0 ? 0 : place_.block[0] << stage;
  }

  template <std::uint32_t kStages>
  LW_GPU void forward_pass(std::uint32_t from) const noexcept {
    constexpr std::uint32_t kWords = 1 << kStages;
    for (std::uint32_t number = place_.thread; number < groups<kStages>(); number += place_.threads) {
      const Group<kStages> group(*this, from, number);
      Value v[kWords];
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kWords; ++i) {
        const std::uint32_t l = group.word(i);
        v[i] = A::from_word(from == 0 ? x_.load(row_place(l)) : shared_.load(shared_place(l)));
      }
      LW_GPU_UNROLL
      for (std::uint32_t s = 0; s < kStages; ++s) {
        const std::uint32_t stage = args_.first + from + s, half = kWords >> (s + 1);
        const std::uint32_t w = (std::uint32_t{1} << stage) + first_block(from + s) + (group.block << s);
        LW_GPU_UNROLL
        for (std::uint32_t i = 0; i < kWords / 2; ++i) {
          const std::uint32_t at = i / half * 2 * half + i % half;
          A::forward(v[at], v[at + half], twiddles_.load(w + i / half), stage, prime_);
        }
      }
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kWords; ++i) shared_.store(shared_place(group.word(i)), A::to_word(v[i]));
    }
  }

  template <std::uint32_t kStages>
  LW_GPU void inverse_pass(std::uint32_t from) const noexcept {
    constexpr std::uint32_t kWords = 1 << kStages;
    for (std::uint32_t number = place_.thread; number < groups<kStages>(); number += place_.threads) {
      const Group<kStages> group(*this, from, number);
      Value v[kWords];
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kWords; ++i) v[i] = A::from_word(shared_.load(shared_place(group.word(i))));
      LW_GPU_UNROLL
      for (std::uint32_t back = 0; back < kStages; ++back) {
        const std::uint32_t s = kStages - 1 - back;
        const std::uint32_t stage = args_.first + from + s, half = kWords >> (s + 1);
        const std::uint32_t w = (std::uint32_t{2} << stage) - 1 - first_block(from + s) - (group.block << s);
        LW_GPU_UNROLL
        for (std::uint32_t i = 0; i < kWords / 2; ++i) {
          const std::uint32_t at = i / half * 2 * half + i % half;
          if (stage == 0) {
            A::inverse_end(v[at], v[at + half], prime_);
          } else {
            A::inverse(v[at], v[at + half], twiddles_.load(w - i / half), stage, prime_);
          }
        }
      }
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kWords; ++i) {
        const std::uint32_t l = group.word(i);
        if (from == 0) {
          out_.store(row_place(l), A::to_word(v[i]));
        } else {
          shared_.store(shared_place(l), A::to_word(v[i]));
        }
      }
    }
  }

  const NttArgs& args_;
  const Place& place_;
  const Shared shared_;
  const typename A::Prime prime_;
  const Global<const typename A::Twiddle> twiddles_;
  const Global<const Word> x_;
  const Global<Word> out_;
};

template <class A>
struct ForwardNtt {
  static constexpr KernelName kName{A::kName, "ntt"};
  static constexpr std::uint32_t kThreads = 1 << (kLogNttTile - kPassStages);
  using Args = NttArgs;
  struct Registers {};
  static LW_GPU std::uint32_t phases(const Args& args) noexcept { return args.passes() + 1; }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers&) noexcept {
    const NttTile<A> tile(args, place, shared);
    if (phase < args.passes()) {
      tile.forward(phase);
    } else {
      tile.store();
    }
  }
};

template <class A>
struct InverseNtt {
  static constexpr KernelName kName{A::kName, "intt"};
  static constexpr std::uint32_t kThreads = ForwardNtt<A>::kThreads;
  using Args = NttArgs;
  struct Registers {};
  static LW_GPU std::uint32_t phases(const Args& args) noexcept { return args.passes() + 1; }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers&) noexcept {
    const NttTile<A> tile(args, place, shared);
    if (phase == 0) {
      tile.load();
    } else {
      tile.inverse(args.passes() - phase);
    }
  }
};

}  // namespace lw::gpu
