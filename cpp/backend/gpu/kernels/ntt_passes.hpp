// Passes of some stages in registers over a tile, which meet in shared memory.
#pragma once

#include <type_traits>

#include "backend/gpu/kernels/ntt_tile.hpp"

namespace lw::gpu {

template <class Radix, class Tile>
LW_GPU std::uint32_t num_passes(const TileShape& args) noexcept {
  return (Tile::stages(args) + Radix::kStages - 1) / Radix::kStages;
}

/// The twiddles of a thread's pass, those of one stage after the other: loaded a pass ahead, so that no pass waits for
/// them.
template <class A, class Radix>
struct HeldTwiddles {
  typename A::Twiddle twiddle[Radix::kWords - 1];
};
struct NoTwiddles {};  // each stage loads its own

/// The twiddles that a thread holds for the next pass: none for integers, whose twiddles are two words each, for which
/// there are no registers.
template <class A, class Radix, class Tile>
struct Holds {
  using Twiddles = NoTwiddles;
};
template <class A, class Radix, class Tile>
  requires(Tile::kIsFull && Tile::kHoldsTwiddles && sizeof(typename A::Twiddle) == sizeof(Word))
struct Holds<A, Radix, Tile> {
  using Twiddles = HeldTwiddles<A, Radix>;
};
template <class A, class Radix, class Tile>
using HeldOf = typename Holds<A, Radix, Tile>::Twiddles;

/// B: the butterflies, A or those for small primes.
template <class A, class B, class Radix, class Tile>
class TilePasses : public TileWords<A, Tile> {
 public:
  using Value = typename A::Value;
  using Prime = typename A::Prime;
  using Held = HeldOf<A, Radix, Tile>;
  static constexpr bool kHolds = !std::is_same_v<Held, NoTwiddles>;

  LW_GPU TilePasses(const NttArgs& args, const Place& place, Shared shared, const Prime& prime) noexcept
      : TileWords<A, Tile>(args, place, shared), prime_(prime) {}
  LW_GPU TilePasses(const TileWords<A, Tile>& limbs, const Prime& prime) noexcept
      : TileWords<A, Tile>(limbs), prime_(prime) {}

  /// A full tile between limbs and shared memory, with the threads of a warp side by side.
  LW_GPU void load() const noexcept {
    const Global<const Word> limb = this->x_ + this->limb_place(this->place_.thread);
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < Radix::kWords; ++i)
      this->shared_.store(move_place(i), limb.load(i * Radix::kThreads));
  }
  LW_GPU void store() const noexcept {
    store([](std::uint32_t, std::uint32_t, Word word) { return word; });
  }
  /// finish(i, place in the limb, word) is what becomes of word i of the thread.
  template <class Finish>
  LW_GPU void store(const Finish& finish) const noexcept {
    each_moved([&](std::uint32_t i, std::uint32_t at) {
      this->out_.store(at, finish(i, at, this->shared_.load(move_place(i))));
    });
  }
  /// each(i, place in the limb) for the words of a thread when those of a warp are side by side.
  template <class Each>
  LW_GPU void each_moved(const Each& each) const noexcept {
    const std::uint32_t first = this->limb_place(this->place_.thread);
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < Radix::kWords; ++i) each(i, first + i * Radix::kThreads);
  }

  /// Pass number `pass` of a forward transform. The first one reads limbs, and the last one writes them, but for full
  /// tiles, in whose last pass the words of a thread lie together: it leaves them in shared memory.
  LW_GPU void forward(std::uint32_t pass, Held& held) const noexcept {
    forward(pass, held, [this](auto& v, const auto& group) { load_group<Tile::kStart>(v, group, true); });
  }
  /// The same of a limb that is nowhere yet: begin(v, group) makes its words, for the first pass.
  template <class Begin>
  LW_GPU void forward(std::uint32_t pass, Held& held, const Begin& begin) const noexcept {
    forward_of<Radix::kStages>(range(pass), held, begin);
  }
  /// Pass number `pass` of an inverse transform: pass 0 is the last.
  LW_GPU void inverse(std::uint32_t pass, Held& held) const noexcept { inverse_of<Radix::kStages>(range(pass), held); }
  /// The same of tiles that hold no twiddles.
  LW_GPU void forward(std::uint32_t pass) const noexcept
    requires(!kHolds)
  {
    Held none;
    forward(pass, none);
  }
  LW_GPU void inverse(std::uint32_t pass) const noexcept
    requires(!kHolds)
  {
    Held none;
    inverse(pass, none);
  }
  /// Loads the twiddles of the last pass, before an inverse transform begins with it.
  LW_GPU void hold_last(Held& held) const noexcept {
    if constexpr (Tile::kIsFull) hold_inverse<Radix::kStages>(held, this->stages() - Radix::kStages);
  }

  /// The words of one butterfly network, and where they are.
  template <std::uint32_t kStages>
  struct Group {
    LW_GPU Group(const TilePasses& tile, std::uint32_t from, std::uint32_t number) noexcept
        : log_step(tile.log_size() - from - kStages),
          block(number >> log_step),
          first((block << (log_step + kStages)) + (number & ((std::uint32_t{1} << log_step) - 1))) {}

    std::uint32_t log_step, block, first;
  };

  /// The place of word i of a thread in shared memory when threads are side by side: word i * kThreads + thread of the
  /// tile.
  LW_GPU std::uint32_t move_place(std::uint32_t i) const noexcept {
    return shared_place(this->place_.thread) + shared_place(i * Radix::kThreads);
  }

 private:
  /// The range of the kernel's stages that a pass carries out.
  struct Range {
    std::uint32_t from, stages;
    bool is_last;
  };
  LW_GPU Range range(std::uint32_t pass) const noexcept {
    if (Tile::kIsFull) return {pass * Radix::kStages, Radix::kStages, false};
    const std::uint32_t passes = num_passes<Radix, Tile>(this->args_);
    const std::uint32_t each = this->stages() / passes, longer = this->stages() % passes;
    const std::uint32_t from = pass * each + (pass < longer ? pass : longer);
    return {from, each + (pass < longer), pass + 1 == passes};
  }

  template <std::uint32_t kStages, class Begin>
  LW_GPU void forward_of(const Range& range, Held& held, const Begin& begin) const noexcept {
    if constexpr (kStages > 1 && !Tile::kIsFull) {
      if (range.stages != kStages) return forward_of<kStages - 1>(range, held, begin);
    }
    std::uint32_t number = this->place_.thread;
    do {
      forward_group<kStages>(range, Group<kStages>(*this, range.from, number), held, begin);
      number += this->place_.threads;
    } while ((kStages < Radix::kStages || !Tile::kFitsThreads) && number >> (this->log_size() - kStages) == 0);
  }
  template <std::uint32_t kStages>
  LW_GPU void inverse_of(const Range& range, Held& held) const noexcept {
    if constexpr (kStages > 1 && !Tile::kIsFull) {
      if (range.stages != kStages) return inverse_of<kStages - 1>(range, held);
    }
    std::uint32_t number = this->place_.thread;
    do {
      inverse_group<kStages>(range, Group<kStages>(*this, range.from, number), held);
      number += this->place_.threads;
    } while ((kStages < Radix::kStages || !Tile::kFitsThreads) && number >> (this->log_size() - kStages) == 0);
  }

  /// is_edge: the words are at an end of the tile.
  template <Ends kFrom, std::uint32_t kStages>
  LW_GPU void load_group(Value (&v)[1 << kStages], const Group<kStages>& group, bool is_edge) const noexcept {
    const std::uint32_t place = shared_place(group.first);
    if (kFrom == Ends::kCluster) {
      const std::uint32_t there = this->shared_place_across(group.first);
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < 1 << kStages; ++i) v[i] = A::from_word(this->shared_.of(i).load(there));
    } else if (kFrom == Ends::kLimbs && is_edge) {
      Global<const Word> limb = this->x_ + this->limb_place(group.first);
      const std::uint32_t limb_step = this->limb_step(1 << group.log_step);
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < 1 << kStages; ++i, limb = limb + limb_step) v[i] = A::from_word(limb.load(0));
    } else {
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < 1 << kStages; ++i) {
        v[i] = A::from_word(this->shared_.load(place + shared_place(i << group.log_step)));
      }
    }
  }
  template <Ends kTo, std::uint32_t kStages>
  LW_GPU void store_group(const Value (&v)[1 << kStages], const Group<kStages>& group, bool is_edge) const noexcept {
    const std::uint32_t place = shared_place(group.first);
    if (kTo == Ends::kCluster) {
      const std::uint32_t there = this->shared_place_across(group.first);
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < 1 << kStages; ++i) this->shared_.of(i).store(there, A::to_word(v[i]));
    } else if (kTo == Ends::kLimbs && is_edge) {
      Global<Word> limb = this->out_ + this->limb_place(group.first);
      const std::uint32_t limb_step = this->limb_step(1 << group.log_step);
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < 1 << kStages; ++i, limb = limb + limb_step) limb.store(0, A::to_word(v[i]));
    } else {
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < 1 << kStages; ++i) {
        this->shared_.store(place + shared_place(i << group.log_step), A::to_word(v[i]));
      }
    }
  }

  template <std::uint32_t kStages>
  LW_GPU void hold_forward(Held& held, std::uint32_t from) const noexcept {
    if constexpr (kHolds) {
      const std::uint32_t block = Group<kStages>(*this, from, this->place_.thread).block;
      hold<kStages, 0>(held, this->twiddle(from) + block);
    }
  }
  template <std::uint32_t kStages>
  LW_GPU void hold_inverse(Held& held, std::uint32_t from) const noexcept {
    if constexpr (kHolds) {
      const std::uint32_t block = Group<kStages>(*this, from, this->place_.thread).block;
      hold<kStages, 0>(held, this->inverse_twiddle_of(from, block));
    }
  }
  template <std::uint32_t kStages, std::uint32_t s>
  LW_GPU void hold(Held& held, std::uint32_t w) const noexcept {
    typename A::Twiddle twiddles[1 << s];
    this->load_twiddles(twiddles, w << s);
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < 1 << s; ++i) held.twiddle[(1 << s) - 1 + i] = twiddles[i];
    if constexpr (s + 1 < kStages) hold<kStages, s + 1>(held, w);
  }
  /// Gets the twiddles of stage number s of a pass whose first twiddle has the number w.
  template <std::uint32_t s>
  LW_GPU void get_twiddles(typename A::Twiddle (&out)[1 << s], const Held& held, std::uint32_t w) const noexcept {
    if constexpr (kHolds) {
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < 1 << s; ++i) out[i] = held.twiddle[(1 << s) - 1 + i];
    } else {
      this->load_twiddles(out, w << s);
    }
  }

  template <std::uint32_t kStages, class Begin>
  LW_GPU void forward_group(const Range& range, const Group<kStages>& group, Held& held,
                            const Begin& begin) const noexcept {
    Value v[1 << kStages];
    if (range.from == 0) {
      begin(v, group);
      hold_forward<kStages>(held, 0);
    } else {
      load_group<Ends::kShared>(v, group, false);
    }
    const Held now = held;
    if (range.from + kStages < this->stages()) hold_forward<kStages>(held, range.from + kStages);
    forward_stages<kStages, 0>(v, range.from, this->twiddle(range.from) + group.block, now);
    if (range.from + kStages == this->stages() && this->is_end()) {
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < 1 << kStages; ++i) v[i] = B::forward_end(v[i], prime_);
    }
    store_group<Tile::kEnd>(v, group, range.is_last);
  }
  /// Carries out the forward stages from number s of a pass on, whose first twiddle has the number w.
  template <std::uint32_t kStages, std::uint32_t s>
  LW_GPU void forward_stages(Value (&v)[1 << kStages], std::uint32_t from, std::uint32_t w,
                             const Held& held) const noexcept {
    constexpr std::uint32_t kWords = 1 << kStages, kHalf = kWords >> (s + 1);
    typename A::Twiddle twiddles[1 << s];
    get_twiddles<s>(twiddles, held, w);
    if (B::reduces_first(this->log_span(from + s), prime_)) reduce_without<kHalf>(v);
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kWords / 2; ++i) {
      const std::uint32_t at = i / kHalf * 2 * kHalf + i % kHalf;
      B::forward(v[at], v[at + kHalf], twiddles[i / kHalf], prime_);
    }
    if constexpr (s + 1 < kStages) forward_stages<kStages, s + 1>(v, from, w, held);
  }

  template <std::uint32_t kStages>
  LW_GPU void inverse_group(const Range& range, const Group<kStages>& group, Held& held) const noexcept {
    Value v[1 << kStages];
    load_group<Tile::kEnd>(v, group, range.is_last);
    const Held now = held;
    if (range.from > 0) hold_inverse<kStages>(held, range.from - kStages);
    const std::uint32_t w = this->inverse_twiddle_of(range.from, group.block);
    inverse_stages<kStages, kStages - 1>(v, range.from, w, now);
    store_group<Tile::kStart>(v, group, range.from == 0);
  }
  /// Carries out the inverse stages from number s of a pass down. The inverse twiddle of the pass's first stage has the
  /// number w.
  template <std::uint32_t kStages, std::uint32_t s>
  LW_GPU void inverse_stages(Value (&v)[1 << kStages], std::uint32_t from, std::uint32_t w,
                             const Held& held) const noexcept {
    constexpr std::uint32_t kWords = 1 << kStages, kHalf = kWords >> (s + 1);
    if (s == 0 && from == 0 && this->first_stage() == 0) {
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kHalf; ++i) B::inverse_end(v[i], v[i + kHalf], prime_);
      return;
    }
    typename A::Twiddle twiddles[1 << s];
    get_twiddles<s>(twiddles, held, w);
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kWords / 2; ++i) {
      const std::uint32_t at = i / kHalf * 2 * kHalf + i % kHalf;
      B::inverse(v[at], v[at + kHalf], twiddles[(1 << s) - 1 - i / kHalf], prime_);
    }
    if (B::reduces_sums(this->log_span(from + s), prime_)) reduce_without<kHalf>(v);
    if constexpr (s > 0) {
      inverse_stages<kStages, s - 1>(v, from, w, held);
    } else {
      if (from == 0) v[0] = B::inverse_pause(v[0], prime_);
    }
  }

  /// Reduces the words whose numbers are without a bit.
  template <std::uint32_t kBit, std::uint32_t kWords>
  LW_GPU void reduce_without(Value (&v)[kWords]) const noexcept {
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kWords / 2; ++i) {
      const std::uint32_t at = i / kBit * 2 * kBit + i % kBit;
      v[at] = B::reduce(v[at], prime_);
    }
  }

  const Prime& prime_;
};

}  // namespace lw::gpu
