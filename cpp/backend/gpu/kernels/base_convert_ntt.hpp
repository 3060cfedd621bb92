// Base conversion in the first pass of forward transforms of one tile: what is converted is transformed before it goes
// to memory.
#pragma once

#include "backend/gpu/kernels/converted_words.hpp"
#include "backend/gpu/kernels/ntt.hpp"

namespace lw::gpu {

/// Converts the words of a full tile for one target in its first pass, in which they are kThreads apart.
template <class A>
class ConvertedTile {
 public:
  LW_GPU ConvertedTile(const Tables& tables, const ConversionJob& job, std::uint32_t poly, std::uint32_t target,
                       const typename A::Prime& prime) noexcept
      : tables_(tables), job_(job), poly_(poly), target_(target), prime_(prime) {}

  template <class Group>
  LW_GPU void operator()(typename A::Value (&v)[Radix8::kWords], const Group& group) const noexcept {
    constexpr std::uint32_t kAtOnce = 2;
    LW_GPU_UNROLL
    for (std::uint32_t first = 0; first < Radix8::kWords; first += kAtOnce) {
      convert_words<A, kAtOnce>(v + first, tables_, job_, poly_, target_, prime_,
                                [&](std::uint32_t i) { return group.first + ((first + i) << group.log_step); });
    }
  }

 private:
  const Tables& tables_;
  const ConversionJob& job_;
  const std::uint32_t poly_, target_;
  const typename A::Prime& prime_;
};

/// Limbs of a full tile, in one pass over memory: a block has a limb.
template <class A>
struct BaseConvertNtt : UnrolledPhases<Radix8> {
  static constexpr KernelName kName{A::kName, "base_convert_ntt", Radix8::kName, "full"};
  static constexpr std::uint32_t kBlocks = A::kArithmetic == Arithmetic::kFp64 ? 2 : 1;  // 64 registers, or 128
  using Tile = LeanTile<Radix8>;
  using Registers = LimbRegisters<A, Radix8, Tile>;

  struct Args {
    TileShape shape;
    ConversionJobs jobs;
    Target out;
  };
  static LW_GPU std::uint32_t phases(const Args&) noexcept { return UnrolledPhases<Radix8>::kPhases; }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers& registers) noexcept {
    const ConversionJob& job = args.jobs.of(place);
    if (place.block[1] >= job.count) return;
    const std::uint32_t t = job.first + place.block[1], poly = args.jobs.poly(place);
    const auto limb = static_cast<std::uint32_t>(job.table.template targets<A>().load(t).limb);
    if (phase == 0) registers.prime = args.shape.tables.template prime<A>(limb);
    const TileWords<A, Tile> limbs(args.shape, place, shared, limb, Global<const Word>(),
                                   args.out.limb(poly, job.limb + place.block[1]));
    const ConvertedTile<A> converted(args.shape.tables, job, poly, t, registers.prime);
    run_for_prime<PassOf, A>(typename ButterfliesOf<A, true>::List(), registers.prime, phase, limbs, registers.held,
                             converted);
  }

 private:
  template <class, class B>
  struct PassOf {
    static LW_GPU void run(const typename A::Prime& prime, std::uint32_t phase, const TileWords<A, Tile>& limbs,
                           HeldOf<A, Radix8, Tile>& held, const ConvertedTile<A>& converted) noexcept {
      const TilePasses<A, B, Radix8, Tile> tile(limbs, prime);
      phase + 1 < UnrolledPhases<Radix8>::kPhases ? tile.forward(phase, held, converted) : tile.store();
    }
  };
};

}  // namespace lw::gpu
