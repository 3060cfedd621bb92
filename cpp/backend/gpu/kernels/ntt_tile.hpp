// Tiles of limbs, which transforms take through shared memory: where their words are, and their twiddles.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"

namespace lw::gpu {

/// Some stages of a transform, numbered as those of the forward one, and the tiles that they go by.
struct TileShape {
  Tables tables;
  std::uint32_t first, stages;
  std::uint32_t log_tile;
  std::uint32_t log_run;  // words of a tile that lie together; the runs of one are evenly spaced in the limb
};
/// The same of limbs, each with its number.
struct NttArgs : TileShape {
  Target out;
  Source x;
  LimbNumbers limbs;
};

/// The words that a pass takes at once, and those of a full tile.
template <std::uint32_t kStagesOfPass, std::uint32_t kLogWords>
struct RadixOf {
  static constexpr std::uint32_t kStages = kStagesOfPass;
  static constexpr std::uint32_t kLogTile = kLogWords;
  static constexpr std::uint32_t kThreads = 1 << (kLogTile - kStages);  // of a full tile
  static constexpr std::uint32_t kWords = 1 << kStages;                 // of a thread
};
struct Radix2 : RadixOf<1, 11> {
  static constexpr char kName[] = "radix2";
};
struct Radix4 : RadixOf<2, 12> {
  static constexpr char kName[] = "radix4";
};
struct Radix8 : RadixOf<3, 12> {
  static constexpr char kName[] = "radix8";
};
struct Radix16 : RadixOf<4, 12> {
  static constexpr char kName[] = "radix16";
};

/// The place of a tile's words before its first stage, and after its last one: in limbs, in shared memory, or each of
/// those of a butterfly network in that of another block.
enum class Ends { kLimbs, kShared, kCluster };

/// A full tile of words that lie together, with all stages in it, the last ones of a transform: steps are constants.
template <class Radix>
struct FullTile {
  static constexpr char kName[] = "full";
  static constexpr bool kIsFull = true;
  static constexpr bool kFitsThreads = true;                   // a butterfly network of each pass for each thread
  static constexpr bool kHoldsTwiddles = Radix::kStages <= 3;  // those of the next pass, in registers
  static constexpr Ends kStart = Ends::kLimbs, kEnd = Ends::kShared;
  static LW_GPU std::uint32_t first(const TileShape& args) noexcept { return args.first; }
  static LW_GPU bool is_end(const TileShape&) noexcept { return true; }  // its last stage is that of the transform
  static LW_GPU std::uint32_t log_size(const TileShape&) noexcept { return Radix::kLogTile; }
  static LW_GPU std::uint32_t log_run(const TileShape&) noexcept { return Radix::kLogTile; }
  static LW_GPU std::uint32_t stages(const TileShape&) noexcept { return Radix::kLogTile; }
};
/// The same for kernels that need the registers for something else.
template <class Radix>
struct LeanTile : FullTile<Radix> {
  static constexpr bool kHoldsTwiddles = false;
};
/// Columns, the first stages of a long limb; or a whole limb that is shorter than a full tile.
template <class Radix>
struct AnyTile {
  static constexpr char kName[] = "any";
  static constexpr bool kIsFull = false;
  static constexpr bool kFitsThreads = true;
  static constexpr Ends kStart = Ends::kLimbs, kEnd = Ends::kLimbs;
  static LW_GPU std::uint32_t first(const TileShape&) noexcept { return 0; }
  static LW_GPU bool is_end(const TileShape& args) noexcept { return args.stages == args.tables.log_degree; }
  static LW_GPU std::uint32_t log_size(const TileShape& args) noexcept { return args.log_tile; }
  static LW_GPU std::uint32_t log_run(const TileShape& args) noexcept { return args.log_run; }
  static LW_GPU std::uint32_t stages(const TileShape& args) noexcept { return args.stages; }
};

/// The place of word l of a tile in shared memory: spread out, so that threads with steps of eight find other banks.
/// That of a sum whose terms have no bit in common is the sum of theirs.
LW_GPU constexpr std::uint32_t shared_place(std::uint32_t l) noexcept { return l + (l >> 4); }
LW_GPU constexpr std::uint32_t ntt_shared_words(std::uint32_t log_tile) noexcept {
  return shared_place((std::uint32_t{1} << log_tile) - 1) + 1;
}

template <class A>
struct alignas(2 * sizeof(typename A::Twiddle)) TwiddlePair {
  typename A::Twiddle first, second;
};

/// One block's tile: its words in the limbs and in shared memory.
template <class A, class Tile>
class TileWords {
 public:
  LW_GPU TileWords(const TileShape& shape, const Place& place, Shared shared, std::uint32_t limb, Global<const Word> x,
                   Global<Word> out) noexcept
      : args_(shape),
        place_(place),
        shared_(shared),
        twiddles_(shape.tables.template twiddles_of<A>(0)),
        first_twiddle_(limb << shape.tables.log_degree),
        x_(x),
        out_(out) {}
  /// The tile of a block's limb, in a grid of (tiles, limbs, polys).
  LW_GPU TileWords(const NttArgs& args, const Place& place, Shared shared) noexcept
      : TileWords(args, place, shared, args.limbs.number[place.block[1]], args.x.limb(place.block[2], place.block[1]),
                  args.out.limb(place.block[2], place.block[1])) {}

  LW_GPU std::uint32_t log_size() const noexcept { return Tile::log_size(args_); }
  LW_GPU std::uint32_t stages() const noexcept { return Tile::stages(args_); }
  LW_GPU std::uint32_t first_stage() const noexcept { return Tile::first(args_); }
  /// Butterflies of stage number `stage` of this kernel span 2^log_span words.
  LW_GPU std::uint32_t log_span(std::uint32_t stage) const noexcept {
    return (Tile::kIsFull ? log_size() : args_.tables.log_degree - first_stage()) - 1 - stage;
  }
  LW_GPU bool is_end() const noexcept { return Tile::is_end(args_); }

  /// The place of word l of the tile in its limb. That of a sum whose terms have no bit in common is the sum of theirs,
  /// but for the place of the tile, which is that of word 0.
  LW_GPU std::uint32_t limb_place(std::uint32_t l) const noexcept {
    return (place_.block[0] << Tile::log_run(args_)) + limb_step(l);
  }
  LW_GPU std::uint32_t limb_step(std::uint32_t l) const noexcept {
    if (Tile::kIsFull) return l;
    const std::uint32_t run = l >> Tile::log_run(args_), in_run = l & ((std::uint32_t{1} << Tile::log_run(args_)) - 1);
    return (run << (args_.tables.log_degree - stages())) + in_run;
  }

  /// The place in shared memory of word l of a butterfly network of columns across the blocks of a cluster, one word in
  /// each, if l is the first.
  LW_GPU std::uint32_t shared_place_across(std::uint32_t l) const noexcept {
    return shared_place((place_.block[0] << Tile::log_run(args_)) + l);
  }

  /// The number of the twiddle of block 0 of the tile in stage number `stage` of this kernel; tiles of columns have all
  /// blocks in common.
  LW_GPU std::uint32_t twiddle(std::uint32_t stage) const noexcept {
    return (first_stage() == 0 ? 1 : (std::uint32_t{1} << first_stage()) + place_.block[0]) << stage;
  }
  /// Loads `kCount` twiddles from number w of the stage on, a multiple of kCount. They are found in two steps, as 32
  /// bits are enough for the first one.
  template <std::uint32_t kCount>
  LW_GPU void load_twiddles(typename A::Twiddle (&out)[kCount], std::uint32_t w) const noexcept {
    load_neighbours(out, twiddles_ + (first_twiddle_ + w));
  }
  /// The number of the twiddle whose negative is the inverse of that with number w, of stage number `stage`: inverses
  /// are in reverse order. s stages later, 2^s times it is the number for the last of the blocks made of this one.
  LW_GPU std::uint32_t inverse_twiddle(std::uint32_t stage, std::uint32_t w) const noexcept {
    return (std::uint32_t{3} << (first_stage() + stage)) - 1 - w;
  }
  /// The same for a block of the tile: what depends on the tile is the same in all stages.
  LW_GPU std::uint32_t inverse_twiddle_of(std::uint32_t stage, std::uint32_t block) const noexcept {
    const bool has_all = !Tile::kIsFull && first_stage() == 0;
    const std::uint32_t tile = has_all ? 1 : (std::uint32_t{2} << first_stage()) - 1 - place_.block[0];
    return (tile << stage) + (((std::uint32_t{1} << stage) - 1) ^ block);
  }

 private:
  /// Two to a load, if they are words.
  template <std::uint32_t kCount>
  static LW_GPU void load_neighbours(typename A::Twiddle (&out)[kCount],
                                     Global<const typename A::Twiddle> from) noexcept {
    if constexpr (kCount > 1 && sizeof(typename A::Twiddle) == sizeof(Word)) {
      const Global pairs(reinterpret_cast<const TwiddlePair<A>*>(from.address()));
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kCount; i += 2) {
        const TwiddlePair<A> pair = pairs.load(i / 2);
        out[i] = pair.first;
        out[i + 1] = pair.second;
      }
    } else {
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kCount; ++i) out[i] = from.load(i);
    }
  }

 protected:
  const TileShape& args_;
  const Place& place_;
  const Shared shared_;
  const Global<const typename A::Twiddle> twiddles_;
  const std::uint32_t first_twiddle_;
  const Global<const Word> x_;
  const Global<Word> out_;
};

}  // namespace lw::gpu
