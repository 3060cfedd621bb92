// Butterflies for primes of some size, so that what values have to be reduced where is known when a kernel is compiled.
#pragma once

#include <cstddef>
#include <iterator>

#include "backend/gpu/fp64.hpp"
#include "backend/gpu/ntt_ranges.hpp"
#include "backend/gpu/u64_lazy.hpp"

namespace lw::gpu {

/// Fp64 with the butterflies for small primes: those below 2^bits of row kRow of kNttRanges.
template <std::size_t kRow>
struct Fp64Below : Fp64 {
  static constexpr NttRanges kRanges = kNttRanges[kRow];
  static LW_GPU bool takes(const Prime& p) noexcept { return p.value >> kRanges.bits == 0; }

  static LW_GPU bool reduces_first(unsigned log_span, const Prime&) noexcept {
    constexpr std::uint32_t kReduces = kRanges.forward;
    return (kReduces >> log_span & 1) != 0;
  }
  static LW_GPU bool reduces_sums(unsigned log_span, const Prime&) noexcept {
    constexpr std::uint32_t kReduces = kRanges.inverse;
    return (kReduces >> log_span & 1) != 0;
  }
};

/// Each for the primes that those before it do not take.
template <class... B>
struct ButterflyKinds {};

/// The butterflies of an arithmetic, where it is known at compile time which words those of a stage span, or not.
template <class A, bool kSpansAreKnown>
struct ButterfliesOf;
template <>
struct ButterfliesOf<Fp64, true> {
  static_assert(std::size(kNttRanges) == 3);
  using List = ButterflyKinds<Fp64Below<0>, Fp64Below<1>, Fp64Below<2>>;
};
template <>
struct ButterfliesOf<Fp64, false> {
  using List = ButterflyKinds<Fp64>;
};
template <bool kSpansAreKnown>
struct ButterfliesOf<U64, kSpansAreKnown> {
  using List = ButterflyKinds<U64Lazy, U64>;
};

}  // namespace lw::gpu
