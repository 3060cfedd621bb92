// Negacyclic NTT: Cooley-Tukey from natural order forward, Gentleman-Sande back, with the powers of psi merged into the
// twiddles. Three stages are done at a time, in registers. Once a block fits the first-level cache, all its stages are
// done before the next block; the last two of them take place within 4 adjacent positions, by transposing 4 x 4.
#include <bit>
#include <iterator>
#include <utility>

#include "backend/cpu/ntt_ranges.hpp"
#include "backend/cpu/rows_avx2.hpp"
#include "backend/cpu/vectors_avx2.hpp"

namespace lw::cpu::avx2 {
namespace {

using V = Avx2;
using F64 = V::F64;

constexpr std::size_t kCachedWords = 2048;  // of a block that is finished before the next is begun
constexpr std::size_t kTail = 16;

/// A transform of one row: the constants of its prime, and what of kNttRanges holds for it.
template <NttRanges kRanges>
class Transform {
 public:
  explicit Transform(const NttTable& table) noexcept : table_(table), p_(table.prime) {}

  void forward(Word* x) const noexcept {
    forward_block(x, table_.degree, 1, ntt_passes(static_cast<unsigned>(std::countr_zero(table_.degree))));
  }
  void inverse(Word* x) const noexcept {
    const NttPasses passes = ntt_passes(static_cast<unsigned>(std::countr_zero(table_.degree)));
    // The last pass also divides by N: what it is depends on the degree.
    if (passes.eights > 0) {
      const std::size_t part = table_.degree / 8;
      if (part < kTail) {
        inverse_tails(x, table_.degree, 1);
      } else {
        const NttPasses rest = {passes.eights - 1, passes.fours};
        for (std::size_t i = 0; i < 8; ++i) inverse_block(x + i * part, part, 15 - i, rest);
      }
      inverse_pass<8, 0, true>(x, part, 1);
    } else {
      const std::size_t part = table_.degree / 4;
      inverse_tails(x, table_.degree, 1);
      if (passes.fours == 2) {
        for (std::size_t i = 0; i < 4; ++i) inverse_pass<4, kRanges.inverse4, false>(x + i * part, part / 4, 7 - i);
      }
      inverse_pass<4, 0, true>(x, part, 1);
    }
  }

 private:
  /// A factor, and fl(w / q), broadcast or one to a lane.
  struct Factor {
    F64 w, over_q;
  };

  Factor factor(double w) const noexcept { return factor(V::set(w)); }
  Factor factor(F64 w) const noexcept { return {w, V::mul(w, p_.inverse)}; }

  template <unsigned kMask, unsigned kBit>
  F64 reduced(F64 x) const noexcept {
    if constexpr ((kMask >> kBit & 1) != 0) return p_.reduce(x);
    return x;
  }
  template <unsigned kMask, std::size_t kSize>
  void reduce_some(F64 (&x)[kSize]) const noexcept {
    [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      ((x[kI] = reduced<kMask, kI>(x[kI])), ...);
    }(std::make_index_sequence<kSize>());
  }

  // (a, b) -> (a + w b, a - w b)
  void forward_butterfly(F64& a, F64& b, const Factor& f) const noexcept {
    const F64 v = p_.product(b, f.w, f.over_q);
    b = V::sub(a, v);
    a = V::add(a, v);
  }
  // (a, b) -> (a + b, w (b - a)): w is the negated inverse twiddle.
  void inverse_butterfly(F64& a, F64& b, const Factor& f) const noexcept {
    const F64 difference = V::sub(b, a);
    a = V::add(a, b);
    b = p_.product(difference, f.w, f.over_q);
  }

  // One pass over a block of kSize parts, at `distance` words. k numbers the block's twiddle.
  template <std::size_t kSize, unsigned kMask>
  __attribute__((always_inline)) void forward_pass(Word* x, std::size_t distance, std::size_t k) const noexcept {
    Factor f[kSize];  // f[1]: first stage, f[2], f[3]: second, ...
    for (std::size_t i = 1, first = k; i < kSize; i *= 2, first *= 2) {
      for (std::size_t j = 0; j < i; ++j) f[i + j] = factor(table_.heads[first + j]);
    }
    for (std::size_t i = 0; i < distance; i += V::kLanes) {
      F64 v[kSize];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSize; ++j) v[j] = V::load(x + i + j * distance);
      forward_stages<kSize, kMask>(v, f);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSize; ++j) V::store(x + i + j * distance, v[j]);
    }
  }

  template <std::size_t kSize, unsigned kMask>
  __attribute__((always_inline)) void forward_stages(F64 (&v)[kSize], const Factor (&f)[kSize]) const noexcept {
    reduce_some<kMask>(v);
#pragma GCC unroll 8
    for (std::size_t blocks = 1; blocks < kSize; blocks *= 2) {
      const std::size_t half = kSize / blocks / 2;
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSize / 2; ++j) {
        const std::size_t block = j / half, place = block * 2 * half + j % half;
        forward_butterfly(v[place], v[place + half], f[blocks + block]);
      }
    }
  }

  // The same backwards; kLast: divides by N.
  template <std::size_t kSize, unsigned kMask, bool kLast>
  __attribute__((always_inline)) void inverse_pass(Word* x, std::size_t distance, std::size_t k) const noexcept {
    Factor f[kSize];
    f[0] = factor(table_.inverse_degree);
    for (std::size_t i = 1, first = k; i < kSize; i *= 2, first *= 2) {
      for (std::size_t j = 0; j < i; ++j) f[i + j] = factor(table_.heads[first + i - 1 - j]);
    }
    if constexpr (kLast) f[1] = factor(table_.inverse_degree_root);
    for (std::size_t i = 0; i < distance; i += V::kLanes) {
      F64 v[kSize];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSize; ++j) v[j] = V::load(x + i + j * distance);
      inverse_stages<kSize, kMask, kLast>(v, f);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSize; ++j) V::store(x + i + j * distance, v[j]);
    }
  }

  template <std::size_t kSize, unsigned kMask, bool kLast>
  __attribute__((always_inline)) void inverse_stages(F64 (&v)[kSize], const Factor (&f)[kSize]) const noexcept {
#pragma GCC unroll 8
    for (std::size_t blocks = kSize / 2; blocks >= 1; blocks /= 2) {
      const std::size_t half = kSize / blocks / 2;
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSize / 2; ++j) {
        const std::size_t block = j / half, place = block * 2 * half + j % half;
        inverse_butterfly(v[place], v[place + half], f[blocks + block]);
      }
    }
    if constexpr (kLast) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSize / 2; ++j) {
        v[j] = p_.product(v[j], f[0].w, f[0].over_q);
        v[j + kSize / 2] = p_.reduce(v[j + kSize / 2]);
      }
    } else {
      reduce_some<kMask>(v);
    }
  }

  // The factors of the last two stages in the block of 16 positions whose first is w[k].
  void tail_factors(std::size_t k, Factor (&f)[4]) const noexcept {
    const double* t = &table_.tails[12 * (k - table_.degree / kTail)];
    f[1] = factor(V::load(t));
    f[2] = factor(V::load(t + 4));
    f[3] = factor(V::load(t + 8));
  }

  // All tails of a block. The end of one is interleaved with the beginning of the next: neither waits for the other.
  void forward_tails(Word* x, std::size_t count, std::size_t k) const noexcept {
    Factor f[4];
    F64 v[4];
    begin_forward_tail(x, k, v, f);
    for (std::size_t i = 1; i < count; ++i) {
      forward_butterfly(v[0], v[1], f[2]);
      forward_butterfly(v[2], v[3], f[3]);
      F64 next[4];
      begin_forward_tail(x + i * kTail, k + i, next, f);
      reduce_some<0b1111>(v);
      V::store_columns(x + (i - 1) * kTail, 4, v);
      for (std::size_t j = 0; j < 4; ++j) v[j] = next[j];
    }
    forward_butterfly(v[0], v[1], f[2]);
    forward_butterfly(v[2], v[3], f[3]);
    reduce_some<0b1111>(v);
    V::store_columns(x + (count - 1) * kTail, 4, v);
  }
  void begin_forward_tail(const Word* x, std::size_t k, F64 (&v)[4], Factor (&f)[4]) const noexcept {
    tail_factors(k, f);
    V::load_columns(v, x, 4);
    reduce_some<kRanges.forward_tail>(v);
    forward_butterfly(v[0], v[2], f[1]);
    forward_butterfly(v[1], v[3], f[1]);
  }

  // Blocks mirror: transposing rows in reverse order reverses the lanes, as the factors of the mirrored group need it.
  void inverse_tail(Word* x, std::size_t k) const noexcept {
    Factor f[4];
    tail_factors(k, f);
    std::swap(f[2], f[3]);
    F64 v[4];
    V::load_columns(v, x + 12, -4);
    inverse_stages<4, kRanges.inverse_tail, false>(v, f);
    V::store_columns(x + 12, -4, v);
  }

  // The block of `size` words whose twiddle in its first stage is w[k].
  void forward_block(Word* x, std::size_t size, std::size_t k, NttPasses passes) const noexcept {
    if (size > kCachedWords && passes.eights > 0) {
      const std::size_t part = size / 8;
      --passes.eights;
      forward_pass<8, kRanges.forward8>(x, part, k);
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
      each(8, [&](Word* y, std::size_t d, std::size_t i) { forward_pass<8, kRanges.forward8>(y, d, i); });
    }
    for (; passes.fours > 0; --passes.fours) {
      each(4, [&](Word* y, std::size_t d, std::size_t i) { forward_pass<4, kRanges.forward4>(y, d, i); });
    }
    // `first` counts blocks of 4, of which a tail has four.
    forward_tails(x, size / kTail, first / 4);
  }

  void inverse_tails(Word* x, std::size_t size, std::size_t k) const noexcept {
    const std::size_t tails = size / kTail;
    for (std::size_t i = 0; i < tails; ++i) inverse_tail(x + i * kTail, tails * k + tails - 1 - i);
  }

  // The same backwards; w[k] is the mirrored twiddle of its last stage. Not for the block that is the whole row.
  void inverse_block(Word* x, std::size_t size, std::size_t k, NttPasses passes) const noexcept {
    if (size > kCachedWords && passes.eights > 0) {
      const std::size_t part = size / 8;
      --passes.eights;
      for (std::size_t i = 0; i < 8; ++i) inverse_block(x + i * part, part, 8 * k + 7 - i, passes);
      inverse_pass<8, kRanges.inverse8, false>(x, part, k);
      return;
    }
    inverse_tails(x, size, k);
    std::size_t part = 4;
    const auto each = [&](std::size_t parts, const auto& pass) {
      const std::size_t whole = part * parts, blocks = size / whole;
      for (std::size_t i = 0; i < blocks; ++i) pass(x + i * whole, part, blocks * k + blocks - 1 - i);
      part = whole;
    };
    for (; passes.fours > 0; --passes.fours) {
      each(4, [&](Word* y, std::size_t d, std::size_t i) { inverse_pass<4, kRanges.inverse4, false>(y, d, i); });
    }
    for (; passes.eights > 0; --passes.eights) {
      each(8, [&](Word* y, std::size_t d, std::size_t i) { inverse_pass<8, kRanges.inverse8, false>(y, d, i); });
    }
  }

  const NttTable& table_;
  const PrimeVectors<V> p_;
};

}  // namespace

void ntt(Word* x, const NttTable& table) noexcept {
  switch (table.range) {
    case 0:
      return Transform<kNttRanges[0]>(table).forward(x);
    case 1:
      return Transform<kNttRanges[1]>(table).forward(x);
    default:
      return Transform<kNttRanges[2]>(table).forward(x);
  }
}

void intt(Word* x, const NttTable& table) noexcept {
  switch (table.range) {
    case 0:
      return Transform<kNttRanges[0]>(table).inverse(x);
    case 1:
      return Transform<kNttRanges[1]>(table).inverse(x);
    default:
      return Transform<kNttRanges[2]>(table).inverse(x);
  }
}

static_assert(std::size(kNttRanges) == 3);

}  // namespace lw::cpu::avx2
