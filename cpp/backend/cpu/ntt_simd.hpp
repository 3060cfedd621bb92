// Negacyclic NTT: Cooley-Tukey from natural order forward, Gentleman-Sande back, with the powers of psi merged into the
// twiddles. Three stages are done at a time, in registers. Once a block fits the first-level cache, all its stages are
// done before the next block; the last of them, in its tails, take place within vectors.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>

#include "backend/cpu/butterfly_simd.hpp"
#include "backend/cpu/ntt_ranges.hpp"
#include "backend/cpu/tables.hpp"

namespace lw::cpu {
namespace {

constexpr std::size_t kCachedWords = 2048;  // of a block that is finished before the next is begun

template <class V>
constexpr typename V::Order kBackwards = [] {
  typename V::Order order{};
  for (std::size_t k = 0; k < V::kWords; ++k) order.set(k, V::kWords - 1 - k);
  return order;
}();

/// A transform of one limb: the constants of its prime, and what of the ranges holds for it. A Tail does the last
/// stages of kTailWords positions each: those within as many adjacent ones as V has words.
template <class V, template <NttRanges> class Tail, NttRanges kRanges>
class Transform {
 public:
  explicit Transform(const NttTable& table) noexcept
      : table_(table),
        passes_(ntt_passes(static_cast<unsigned>(std::countr_zero(table.degree)), kRanges.tail_stages)),
        butterflies_(table.prime),
        tail_(table) {}

  // out may be x.
  void forward(Word* out, const Word* x) const noexcept {
    const std::size_t part = table_.degree / 8;
    if (out == x || table_.degree <= kCachedWords) {
      if (out != x) std::copy_n(x, table_.degree, out);
      return forward_block(out, table_.degree, 1, passes_);
    }
    forward_pass<8, kRanges.forward8>(out, x, part, 1);
    for (std::size_t i = 0; i < 8; ++i) forward_block(out + i * part, part, 8 + i, {passes_.eights - 1, passes_.fours});
  }
  /// NTT of a polynomial that equals x(1/X), from its first half: coefficient N / 2 is zero, and N / 2 + i minus N / 2
  /// - i. Its values at a root and at the inverse of that are the same, and the positions of the two are each other's
  /// mirror: so of the two blocks after the first stage one is enough. x may be the second half of out.
  void forward_mirrored(Word* out, const Word* x) const noexcept {
    const std::size_t half = table_.degree / 2;
    const Factor root = butterflies_.factor(table_.heads[1]);
    const auto first_stage = [&](std::size_t i, F64 mirror) noexcept {
      const F64 upper = butterflies_.product(mirror, root);
      V::store(out + i, butterflies_.reduce(V::sub(V::load(x + i), upper)));
    };
    Word start[V::kWords] = {};  // of zero, x[half - 1], x[half - 2]...
    std::reverse_copy(x + half - V::kWords + 1, x + half, start + 1);
    first_stage(0, V::load(start));
    for (std::size_t i = V::kWords; i < half; i += V::kWords) {
      first_stage(i, V::reorder(V::load(x + half - i - V::kWords + 1), kBackwards<V>));
    }
    const auto log_half = static_cast<unsigned>(std::countr_zero(half));
    forward_block(out, half, 2, ntt_passes(log_half, kRanges.tail_stages));
    std::reverse_copy(out, out + half, out + half);
  }
  void inverse(Word* out, const Word* x) const noexcept {
    // The last pass also divides by N: what it is depends on the degree.
    if (passes_.eights > 0) {
      const std::size_t part = table_.degree / 8;
      if (part < kTailWords) {
        tail_.inverse(out, x, table_.degree, 1);
      } else {
        const NttPasses rest = {passes_.eights - 1, passes_.fours};
        for (std::size_t i = 0; i < 8; ++i) inverse_block(out + i * part, x + i * part, part, 15 - i, rest);
      }
      last_inverse_pass<8>(out);
    } else {
      const std::size_t part = table_.degree / 4;
      tail_.inverse(out, x, table_.degree, 1);
      if (passes_.fours == 2) {
        for (std::size_t i = 0; i < 4; ++i) inverse_pass<4, kRanges.inverse4>(out + i * part, part / 4, 7 - i);
      }
      last_inverse_pass<4>(out);
    }
  }

 private:
  using F64 = typename V::F64;
  using Factor = typename Butterflies<V>::Factor;
  static_assert(V::kWords == std::size_t{1} << kRanges.tail_stages);

  // Factors of the stages of a pass over a block whose twiddle is w[k]; backwards, the mirrored one.
  template <std::size_t kSize>
  [[gnu::always_inline]] void forward_factors(Factor (&f)[kSize], std::size_t k) const noexcept {
    for (std::size_t i = 1, first = k; i < kSize; i *= 2, first *= 2) {
      for (std::size_t j = 0; j < i; ++j) f[i + j] = butterflies_.factor(table_.heads[first + j]);
    }
  }
  template <std::size_t kSize>
  [[gnu::always_inline]] void inverse_factors(Factor (&f)[kSize], std::size_t k) const noexcept {
    for (std::size_t i = 1, first = k; i < kSize; i *= 2, first *= 2) {
      for (std::size_t j = 0; j < i; ++j) f[i + j] = butterflies_.factor(table_.heads[first + i - 1 - j]);
    }
  }
  // body(v) on vectors of kSize parts at `distance` words, loaded from x and stored at `out`.
  template <std::size_t kSize, class Body>
  [[gnu::always_inline]] static void in_registers(Word* out, const Word* x, std::size_t distance,
                                                  const Body& body) noexcept {
    F64 v[kSize];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kSize; ++j) v[j] = V::load(x + j * distance);
    body(v);
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kSize; ++j) V::store(out + j * distance, v[j]);
  }

  // One pass over a block of kSize parts, at `distance` words.
  template <std::size_t kSize, unsigned kMask>
  [[gnu::always_inline]] void forward_pass(Word* out, const Word* x, std::size_t distance,
                                           std::size_t k) const noexcept {
    Factor f[kSize];
    forward_factors(f, k);
    for (std::size_t i = 0; i < distance; i += V::kWords) {
      in_registers<kSize>(out + i, x + i, distance,
                          [&](F64(&v)[kSize]) { butterflies_.template forward_stages<kMask>(v, f); });
    }
  }
  template <std::size_t kSize, unsigned kMask>
  [[gnu::always_inline]] void inverse_pass(Word* x, std::size_t distance, std::size_t k) const noexcept {
    Factor f[kSize];
    inverse_factors(f, k);
    for (std::size_t i = 0; i < distance; i += V::kWords) {
      in_registers<kSize>(x + i, x + i, distance,
                          [&](F64(&v)[kSize]) { butterflies_.template inverse_stages<kMask>(v, f); });
    }
  }
  // The last pass of an inverse transform divides by N.
  template <std::size_t kSize>
  [[gnu::always_inline]] void last_inverse_pass(Word* x) const noexcept {
    const std::size_t distance = table_.degree / kSize;
    Factor f[kSize];
    inverse_factors(f, 1);
    f[1] = butterflies_.factor(table_.inverse_degree_root);
    const Factor inverse_degree = butterflies_.factor(table_.inverse_degree);
    for (std::size_t i = 0; i < distance; i += V::kWords) {
      in_registers<kSize>(x + i, x + i, distance, [&](F64(&v)[kSize]) {
        butterflies_.template inverse_stages<0>(v, f);
#pragma GCC unroll 8
        for (std::size_t j = 0; j < kSize / 2; ++j) {
          v[j] = butterflies_.product(v[j], inverse_degree);
          v[j + kSize / 2] = butterflies_.reduce(v[j + kSize / 2]);
        }
      });
    }
  }

  // The block of `size` words whose twiddle in its first stage is w[k].
  void forward_block(Word* x, std::size_t size, std::size_t k, NttPasses passes) const noexcept {
    if (size > kCachedWords && passes.eights > 0) {
      const std::size_t part = size / 8;
      --passes.eights;
      forward_pass<8, kRanges.forward8>(x, x, part, k);
      for (std::size_t i = 0; i < 8; ++i) forward_block(x + i * part, part, 8 * k + i, passes);
      return;
    }
    std::size_t part = size, first = k;
    const auto each = [&](std::size_t parts, const auto& pass) {
      for (std::size_t i = 0; i < size / part; ++i) pass(x + i * part, part / parts, first + i);
      part /= parts;
      first *= parts;
    };
    for (; passes.eights > 0; --passes.eights) {
      each(8, [&](Word* y, std::size_t d, std::size_t i) { forward_pass<8, kRanges.forward8>(y, y, d, i); });
    }
    for (; passes.fours > 0; --passes.fours) {
      each(4, [&](Word* y, std::size_t d, std::size_t i) { forward_pass<4, kRanges.forward4>(y, y, d, i); });
    }
    tail_.forward(x, size, k);
  }

  // The same backwards; w[k] is the mirrored twiddle of its last stage. Not for the block that is the whole limb.
  void inverse_block(Word* out, const Word* x, std::size_t size, std::size_t k, NttPasses passes) const noexcept {
    if (size > kCachedWords && passes.eights > 0) {
      const std::size_t part = size / 8;
      --passes.eights;
      for (std::size_t i = 0; i < 8; ++i) inverse_block(out + i * part, x + i * part, part, 8 * k + 7 - i, passes);
      inverse_pass<8, kRanges.inverse8>(out, part, k);
      return;
    }
    tail_.inverse(out, x, size, k);
    std::size_t part = V::kWords;
    const auto each = [&](std::size_t parts, const auto& pass) {
      const std::size_t whole = part * parts, blocks = size / whole;
      for (std::size_t i = 0; i < blocks; ++i) pass(out + i * whole, part, blocks * k + blocks - 1 - i);
      part = whole;
    };
    for (; passes.fours > 0; --passes.fours) {
      each(4, [&](Word* y, std::size_t d, std::size_t i) { inverse_pass<4, kRanges.inverse4>(y, d, i); });
    }
    for (; passes.eights > 0; --passes.eights) {
      each(8, [&](Word* y, std::size_t d, std::size_t i) { inverse_pass<8, kRanges.inverse8>(y, d, i); });
    }
  }

  const NttTable& table_;
  const NttPasses passes_;
  const Butterflies<V> butterflies_;
  const Tail<kRanges> tail_;
};

/// body(transform) with the ranges that hold for the table's prime.
template <class V, template <NttRanges> class Tail, const auto& kRanges, class Body>
void with_ranges(const NttTable& table, const Body& body) noexcept {
  static_assert(std::size(kRanges) == 3);
  switch (table.range) {
    case 0:
      return body(Transform<V, Tail, kRanges[0]>(table));
    case 1:
      return body(Transform<V, Tail, kRanges[1]>(table));
    default:
      return body(Transform<V, Tail, kRanges[2]>(table));
  }
}

}  // namespace
}  // namespace lw::cpu
