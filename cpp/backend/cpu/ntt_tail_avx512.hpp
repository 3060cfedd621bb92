// The last three stages of the transforms by AVX-512: within 8 adjacent positions, by shuffles between two vectors.
#pragma once

#include <cstddef>

#include "backend/cpu/butterfly_simd.hpp"
#include "backend/cpu/ntt_ranges.hpp"
#include "backend/cpu/tables.hpp"
#include "backend/cpu/vectors_avx512.hpp"

namespace lw::cpu {
namespace {

/// Two vectors hold the 16 positions of a tail, one the first and the other the second operand of each butterfly. Words
/// are in such an order before each stage that the factors of NttTable need no shuffle.
template <NttRanges kRanges>
class Avx512Tail {
 public:
  explicit Avx512Tail(const NttTable& table) noexcept : table_(table), butterflies_(table.prime) {}

  /// A block of `size` words, 32 at least, whose twiddle in its first stage is w[k]. Some tails side by side hide the
  /// latency of the shuffles and of the products.
  void forward(Word* x, std::size_t size, std::size_t k) const noexcept {
    const std::size_t count = size / kTailWords;
    if (count % kAtOnce != 0) {
      for (std::size_t i = 0; i < count; i += 2) forward_tails<2>(x + i * kTailWords, k * count + i);
      return;
    }
    for (std::size_t i = 0; i < count; i += kAtOnce) forward_tails<kAtOnce>(x + i * kTailWords, k * count + i);
  }
  /// The same backwards; w[k] is the mirrored twiddle of the block.
  void inverse(Word* out, const Word* x, std::size_t size, std::size_t k) const noexcept {
    const std::size_t count = size / kTailWords;
    k = k * count + count - 1;
    if (count % kAtOnce != 0) {
      for (std::size_t i = 0; i < count; i += 2) inverse_tails<2>(out + i * kTailWords, x + i * kTailWords, k - i);
      return;
    }
    for (std::size_t i = 0; i < count; i += kAtOnce) {
      inverse_tails<kAtOnce>(out + i * kTailWords, x + i * kTailWords, k - i);
    }
  }

 private:
  using V = Avx512;
  using F64 = V::F64;
  using Order = V::Order;
  static constexpr std::size_t kAtOnce = 8;  // tails side by side

  // Positions 0, 8, 1, 9, ... and 4, 12, 5, 13, ... of natural order; then 0, 4, 8, 12, 1, 5, 9, 13 and 2 beyond of
  // that; after halves were exchanged, natural order again.
  static constexpr Order kNear = {{0, 8, 1, 9, 2, 10, 3, 11}}, kFar = {{4, 12, 5, 13, 6, 14, 7, 15}};
  static constexpr Order kFirst = {{0, 8, 4, 12, 1, 9, 5, 13}}, kSecond = {{2, 10, 6, 14, 3, 11, 7, 15}};
  // Backwards from the end, as the factors of the mirrored tail need it: positions 14, 10, 6, 2, 12, 8, 4, 0 and 1
  // beyond; odd and even words.
  static constexpr Order kLast = {{14, 10, 6, 2, 12, 8, 4, 0}}, kBeyond = {{15, 11, 7, 3, 13, 9, 5, 1}};
  static constexpr Order kOdd = {{1, 3, 5, 7, 9, 11, 13, 15}}, kEven = {{0, 2, 4, 6, 8, 10, 12, 14}};

  static constexpr bool takes_whole_vectors(unsigned mask) noexcept {
    return (mask & 15) % 15 == 0 && (mask >> 4) % 15 == 0;
  }
  static_assert(takes_whole_vectors(kRanges.forward_tail) && takes_whole_vectors(kRanges.inverse_tail));

  // body(i, a[i], b[i]) for tails side by side.
  template <std::size_t kCount, class Body>
  [[gnu::always_inline]] static void each(F64 (&a)[kCount], F64 (&b)[kCount], const Body& body) noexcept {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kCount; ++i) body(i, a[i], b[i]);
  }
  static void merge(F64& a, F64& b, const Order& first, const Order& second) noexcept {
    const F64 both = V::merge(a, b, first);
    b = V::merge(a, b, second);
    a = both;
  }
  template <unsigned kMask>
  void reduce_some(F64& a, F64& b) const noexcept {
    if constexpr ((kMask & 15) != 0) a = butterflies_.reduce(a);
    if constexpr ((kMask >> 4) != 0) b = butterflies_.reduce(b);
  }
  // Of the tail whose first factor in blocks of kTailWords is w[k].
  F64 factors_of_2(std::size_t k) const noexcept { return V::repeat2(&table_.heads[2 * k]); }
  const double* tail(std::size_t k) const noexcept { return &table_.tails[12 * (k - table_.degree / kTailWords)]; }

  template <std::size_t kCount>
  [[gnu::always_inline]] void forward_tails(Word* x, std::size_t k) const noexcept {
    F64 a[kCount], b[kCount];
    each(a, b, [&](std::size_t i, F64& p, F64& q) {
      p = V::load(x + kTailWords * i);
      q = V::load(x + kTailWords * i + 8);
      merge(p, q, kNear, kFar);
      reduce_some<kRanges.forward_tail>(p, q);
    });
    each(a, b, [&](std::size_t i, F64& p, F64& q) {
      butterflies_.forward(p, q, factors_of_2(k + i));
      merge(p, q, kNear, kFar);
    });
    each(a, b, [&](std::size_t i, F64& p, F64& q) {
      butterflies_.forward(p, q, V::repeat4(tail(k + i)));
      const F64 low = V::low_halves(p, q);
      q = V::high_halves(p, q);
      p = low;
    });
    each(a, b, [&](std::size_t i, F64& p, F64& q) {
      butterflies_.forward(p, q, V::load(tail(k + i) + 4));
      reduce_some<0xff>(p, q);
      merge(p, q, kFirst, kSecond);
      V::store(x + kTailWords * i, p);
      V::store(x + kTailWords * i + 8, q);
    });
  }

  template <std::size_t kCount>
  [[gnu::always_inline]] void inverse_tails(Word* out, const Word* x, std::size_t k) const noexcept {
    F64 a[kCount], b[kCount];
    each(a, b, [&](std::size_t i, F64& p, F64& q) {
      p = V::load(x + kTailWords * i);
      q = V::load(x + kTailWords * i + 8);
      merge(p, q, kLast, kBeyond);
      butterflies_.inverse(p, q, V::load(tail(k - i) + 4));
      const F64 high = V::high_halves(p, q);
      q = V::low_halves(p, q);
      p = high;
    });
    each(a, b, [&](std::size_t i, F64& p, F64& q) {
      butterflies_.inverse(p, q, V::repeat4(tail(k - i)));
      merge(p, q, kOdd, kEven);
    });
    each(a, b, [&](std::size_t i, F64& p, F64& q) {
      butterflies_.inverse(p, q, factors_of_2(k - i));
      reduce_some<kRanges.inverse_tail>(p, q);
      merge(p, q, kOdd, kEven);
      V::store(out + kTailWords * i, p);
      V::store(out + kTailWords * i + 8, q);
    });
  }

  const NttTable& table_;
  const Butterflies<V> butterflies_;
};

}  // namespace
}  // namespace lw::cpu
