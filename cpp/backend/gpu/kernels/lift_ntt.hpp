// Base conversion in the first pass of forward transforms: what is lifted is transformed before it goes to memory.
#pragma once

#include <type_traits>

#include "backend/gpu/kernels/lifted_words.hpp"
#include "backend/gpu/kernels/ntt.hpp"

namespace lw::gpu {

/// Columns of rows that are longer than a full tile, or whole rows that are shorter. A block has a tile of the rows of
/// a group of targets: each thread splits its coefficients once and keeps the parts in shared memory, where it finds
/// them for one target limb after the other.
template <class A>
struct LiftNtt {
  static constexpr KernelName kName{A::kName, "lift_ntt", Radix8::kName, "any"};
  static constexpr std::uint32_t kThreads = Radix8::kThreads;
  using Tile = AnyTile<Radix8>;
  struct Registers {};

  struct Args {
    TileShape shape;
    LiftJobs lifts;
    Target out;
    std::uint32_t group;    // targets of a block
    std::uint32_t tile_at;  // in shared memory, behind the parts of any job
  };

  static LW_GPU std::uint32_t phases(const Args& args) noexcept {
    return args.group * num_passes<Radix8, Tile>(args.shape);
  }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers&) noexcept {
    const std::uint32_t passes = num_passes<Radix8, Tile>(args.shape), pass = phase % passes;
    const std::uint32_t number = place.block[1] * args.group + phase / passes, poly = args.lifts.poly(place);
    const LiftJob& job = args.lifts.of(place);
    if (number >= job.count) return;
    const LiftedWords<A> lifted(args.shape.tables, job, poly);
    const std::uint32_t t = job.first + number, limb = lifted.limb(t);
    const TileRows<A, Tile> rows(args.shape, place, shared + args.tile_at, limb, Global<const Word>(),
                                 args.out.row(poly, job.row + number));
    if (phase == 0) split(lifted, rows, place, shared);
    const typename A::Prime prime = args.shape.tables.template prime<A>(limb);
    run_for_prime<PassOf, A>(typename ButterfliesOf<A, false>::List(), prime, pass, rows, shared, lifted, t);
  }

 private:
  /// Part j of word l of a tile in shared memory.
  static LW_GPU std::uint32_t part_place(const TileRows<A, Tile>& rows, std::uint32_t j, std::uint32_t l) noexcept {
    return (j << rows.log_size()) + l;
  }

  /// The words that a thread has in the first pass, whatever its radix.
  static LW_GPU void split(const LiftedWords<A>& lifted, const TileRows<A, Tile>& rows, const Place& place,
                           Shared shared) noexcept {
    constexpr std::uint32_t kAtOnce = LiftedWords<A>::kAtOnce;
    const std::uint32_t step = place.threads;
    for (std::uint32_t first = place.thread; first >> rows.log_size() == 0; first += kAtOnce * step) {
      lifted.split([&](std::uint32_t i) { return rows.row_place(first + i * step); },
                   [&](std::uint32_t j, const typename A::Value(&y)[kAtOnce]) {
                     LW_GPU_UNROLL
                     for (std::uint32_t i = 0; i < kAtOnce; ++i) {
                       shared.store(part_place(rows, j, first + i * step), A::to_word(y[i]));
                     }
                   });
    }
  }

  template <class, class B>
  struct PassOf {
    static LW_GPU void run(const typename A::Prime& prime, std::uint32_t pass, const TileRows<A, Tile>& rows,
                           Shared shared, const LiftedWords<A>& lifted, std::uint32_t t) noexcept {
      TilePasses<A, B, Radix8, Tile>(rows, prime).forward(pass, [&](auto& v, const auto& group) {
        constexpr std::uint32_t kWords = std::extent_v<std::remove_reference_t<decltype(v)>>;
        constexpr std::uint32_t kAtOnce = kWords < LiftedWords<A>::kAtOnce ? kWords : LiftedWords<A>::kAtOnce;
        LW_GPU_UNROLL
        for (std::uint32_t first = 0; first < kWords; first += kAtOnce) {
          lifted.template join<kAtOnce>(v + first, t, prime, [&](std::uint32_t j, std::uint32_t i) {
            const std::uint32_t l = group.first + ((first + i) << group.log_step);
            return A::from_word(shared.load(part_place(rows, j, l)));
          });
        }
      });
    }
  };
};

/// What makes the words of a full tile for one target in its first pass, in which they are kThreads apart.
template <class A>
class LiftedTile {
 public:
  LW_GPU LiftedTile(const Tables& tables, const LiftJob& job, std::uint32_t poly, std::uint32_t target,
                    const typename A::Prime& prime) noexcept
      : lifted_(tables, job, poly), target_(target), prime_(prime) {}

  template <class Group>
  LW_GPU void operator()(typename A::Value (&v)[Radix8::kWords], const Group& group) const noexcept {
    constexpr std::uint32_t kAtOnce = LiftedWords<A>::kAtOnce;
    LW_GPU_UNROLL
    for (std::uint32_t first = 0; first < Radix8::kWords; first += kAtOnce) {
      lifted_.lift(v + first, target_, prime_,
                   [&](std::uint32_t i) { return group.first + ((first + i) << group.log_step); });
    }
  }

 private:
  const LiftedWords<A> lifted_;
  const std::uint32_t target_;
  const typename A::Prime& prime_;
};

/// Rows of a full tile, in one pass over memory: a block has a row.
template <class A>
struct LiftNttRow : UnrolledPhases<Radix8> {
  static constexpr KernelName kName{A::kName, "lift_ntt", Radix8::kName, "full"};
  static constexpr std::uint32_t kBlocks = A::kArithmetic == Arithmetic::kFp64 ? 2 : 1;  // 64 registers, or 128
  using Tile = FullTile<Radix8>;
  using Registers = RowPrime<A>;

  struct Args {
    TileShape shape;
    LiftJobs lifts;
    Target out;
  };
  static LW_GPU std::uint32_t phases(const Args&) noexcept { return UnrolledPhases<Radix8>::kPhases; }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers& registers) noexcept {
    const LiftJob& job = args.lifts.of(place);
    if (place.block[1] >= job.count) return;
    const std::uint32_t t = job.first + place.block[1], poly = args.lifts.poly(place);
    const std::uint32_t limb = LiftedWords<A>(args.shape.tables, job, poly).limb(t);
    if (phase == 0) registers.prime = args.shape.tables.template prime<A>(limb);
    const TileRows<A, Tile> rows(args.shape, place, shared, limb, Global<const Word>(),
                                 args.out.row(poly, job.row + place.block[1]));
    const LiftedTile<A> lifted(args.shape.tables, job, poly, t, registers.prime);
    run_for_prime<PassOf, A>(typename ButterfliesOf<A, true>::List(), registers.prime, phase, rows, lifted);
  }

 private:
  template <class, class B>
  struct PassOf {
    static LW_GPU void run(const typename A::Prime& prime, std::uint32_t phase, const TileRows<A, Tile>& rows,
                           const LiftedTile<A>& lifted) noexcept {
      const TilePasses<A, B, Radix8, Tile> tile(rows, prime);
      phase + 1 < UnrolledPhases<Radix8>::kPhases ? tile.forward(phase, lifted) : tile.store();
    }
  };
};

}  // namespace lw::gpu
