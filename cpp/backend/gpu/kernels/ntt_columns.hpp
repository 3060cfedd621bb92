// The first stages of transforms of limbs that are longer than a full tile, on columns: words whose places differ by a
// full tile. A thread has all words of some columns in registers, so that nothing goes through shared memory, and no
// thread waits for another one.
#pragma once

#include "backend/gpu/kernels/ntt.hpp"

namespace lw::gpu {

inline constexpr std::uint32_t kLogColumnWords = 4, kColumnWords = 1 << kLogColumnWords;  // of a thread
inline constexpr std::uint32_t kColumnThreads = 128;

/// The words of a thread in a limb, in a grid of (parts of a limb, ...) of full blocks: in columns of 2^kStages words,
/// each of which lies beside those of the neighbouring threads.
template <std::uint32_t kStages>
struct ColumnPlace {
  static constexpr std::uint32_t kColumns = kColumnWords >> kStages, kRuns = 1 << kStages;
  std::uint32_t first, step;  // from run to run

  LW_GPU ColumnPlace(const TileShape& shape, const Place& place) noexcept
      : first(place.block[0] * (kColumnThreads * kColumns) + place.thread), step(shape.tables.degree() >> kStages) {}
  /// each(i, limb, place) for word i of the thread in a limb.
  template <class T, class Each>
  LW_GPU void each_of(Global<T> limb, const Each& each) const noexcept {
    Global<T> run = limb + first;
    LW_GPU_UNROLL
    for (std::uint32_t r = 0; r < kRuns; ++r, run = run + step) {
      LW_GPU_UNROLL
      for (std::uint32_t c = 0; c < kColumns; ++c) each(r * kColumns + c, run, c * kColumnThreads);
    }
  }
};

/// B: the butterflies.
template <class A, class B, std::uint32_t kStages>
class ColumnStages {
 public:
  using Value = typename A::Value;
  using Prime = typename A::Prime;

  LW_GPU ColumnStages(const Tables& tables, std::uint32_t limb, const Prime& prime) noexcept
      : log_degree_(tables.log_degree), twiddles_(tables.template twiddles_of<A>(limb)), prime_(prime) {}

  LW_GPU void forward(Value (&v)[kColumnWords]) const noexcept { forward_from<0>(v); }
  LW_GPU void inverse(Value (&v)[kColumnWords]) const noexcept { inverse_from<kStages - 1>(v); }

 private:
  template <std::uint32_t s>
  LW_GPU void forward_from(Value (&v)[kColumnWords]) const noexcept {
    constexpr std::uint32_t kHalf = kColumnWords >> (s + 1);
    if (B::reduces_first(log_degree_ - 1 - s, prime_)) reduce_without<kHalf>(v);
    LW_GPU_UNROLL
    for (std::uint32_t block = 0; block < 1 << s; ++block) {
      const typename A::Twiddle twiddle = twiddles_.load((1 << s) + block);
      LW_GPU_UNROLL
      for (std::uint32_t i = 2 * kHalf * block; i < 2 * kHalf * block + kHalf; ++i) {
        B::forward(v[i], v[i + kHalf], twiddle, prime_);
      }
    }
    if constexpr (s + 1 < kStages) forward_from<s + 1>(v);
  }

  template <std::uint32_t s>
  LW_GPU void inverse_from(Value (&v)[kColumnWords]) const noexcept {
    constexpr std::uint32_t kHalf = kColumnWords >> (s + 1);
    if constexpr (s == 0) {
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kHalf; ++i) B::inverse_end(v[i], v[i + kHalf], prime_);
    } else {
      LW_GPU_UNROLL
      for (std::uint32_t block = 0; block < 1 << s; ++block) {
        const typename A::Twiddle twiddle = twiddles_.load((2 << s) - 1 - block);
        LW_GPU_UNROLL
        for (std::uint32_t i = 2 * kHalf * block; i < 2 * kHalf * block + kHalf; ++i) {
          B::inverse(v[i], v[i + kHalf], twiddle, prime_);
        }
      }
      if (B::reduces_sums(log_degree_ - 1 - s, prime_)) reduce_without<kHalf>(v);
      inverse_from<s - 1>(v);
    }
  }

  /// Reduces the words whose numbers are without a bit.
  template <std::uint32_t kBit>
  LW_GPU void reduce_without(Value (&v)[kColumnWords]) const noexcept {
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kColumnWords / 2; ++i) {
      const std::uint32_t at = i / kBit * 2 * kBit + i % kBit;
      v[at] = B::reduce(v[at], prime_);
    }
  }

  const std::uint32_t log_degree_;
  const Global<const typename A::Twiddle> twiddles_;
  const Prime& prime_;
};

/// The kernel of the column stages of an NTT, in a grid of (parts of a limb, limbs, polys).
template <class A, bool kIsInverse>
struct ColumnsKernel : OnePhase {
  static constexpr std::uint32_t kThreads = kColumnThreads;
  static constexpr std::uint32_t kBlocks = A::kArithmetic == Arithmetic::kFp64 ? 6 : 4;  // 80 registers, or 128
  using Args = NttArgs;

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    static_assert(kLogColumnWords == 4);
    switch (args.stages) {
      case 1:
        return run_stages<1>(args, place);
      case 2:
        return run_stages<2>(args, place);
      case 3:
        return run_stages<3>(args, place);
      default:
        return run_stages<4>(args, place);
    }
  }

  /// stages(prime, args, limb, words) does the transform.
  template <std::uint32_t kStages, class Stages>
  static LW_GPU void run_limbs(const Args& args, const Place& place, const Stages& stages) noexcept {
    const std::uint32_t j = place.block[1], poly = place.block[2], limb = args.limbs.number[j];
    const typename A::Prime prime = args.tables.template prime<A>(limb);
    const ColumnPlace<kStages> place_of(args, place);
    typename A::Value v[kColumnWords];
    place_of.each_of(args.x.limb(poly, j), [&](std::uint32_t i, Global<const Word> run, std::uint32_t at) {
      v[i] = A::from_word(run.load(at));
    });
    stages(prime, limb, v);
    place_of.each_of(args.out.limb(poly, j),
                     [&](std::uint32_t i, Global<Word> run, std::uint32_t at) { run.store(at, A::to_word(v[i])); });
  }

  template <std::uint32_t kStages>
  struct Stages {
    template <class, class B>
    struct Of {
      static LW_GPU void run(const typename A::Prime& prime, const Args& args, std::uint32_t limb,
                             typename A::Value (&v)[kColumnWords]) noexcept {
        const ColumnStages<A, B, kStages> columns(args.tables, limb, prime);
        kIsInverse ? columns.inverse(v) : columns.forward(v);
      }
    };
  };

 private:
  template <std::uint32_t kStages>
  static LW_GPU void run_stages(const Args& args, const Place& place) noexcept {
    run_limbs<kStages>(args, place, [&](const typename A::Prime& prime, std::uint32_t limb, auto& v) {
      run_for_prime<Stages<kStages>::template Of, A>(typename ButterfliesOf<A, false>::List(), prime, args, limb, v);
    });
  }
};

template <class A>
struct ForwardColumns : ColumnsKernel<A, false> {
  static constexpr KernelName kName{A::kName, "ntt_columns"};
};
template <class A>
struct InverseColumns : ColumnsKernel<A, true> {
  static constexpr KernelName kName{A::kName, "intt_columns"};
};

}  // namespace lw::gpu
