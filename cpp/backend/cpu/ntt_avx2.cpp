// Negacyclic NTT: Cooley-Tukey from natural order forward, Gentleman-Sande back, with the powers of psi merged into the
// twiddles. Three stages are done at a time, in registers. Once a block fits the first-level cache, all its stages are
// done before the next block; the last four of them take place within 16 adjacent positions, by transposing 4 x 4.
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
    forward_block(x, table_.degree, 1, ntt_passes(static_cast<unsigned>(__builtin_ctzll(table_.degree))));
  }
  void inverse(Word* x) const noexcept {
    const NttPasses passes = ntt_passes(static_cast<unsigned>(__builtin_ctzll(table_.degree)));
    // The last pass also divides by N: what it is depends on the degree.
    if (passes.eights > 0) {
      const std::size_t part = table_.degree / 8;
      for (std::size_t i = 0; i < 8; ++i) {
        inverse_block(x + i * part, part, 15 - i, {passes.eights - 1, passes.fours, passes.twos});
      }
      inverse_pass<8, 0, true>(x, part, 1);
    } else if (passes.fours > 0) {
      const std::size_t part = table_.degree / 4;
      for (std::size_t i = 0; i < 4; ++i) inverse_block(x + i * part, part, 7 - i, {0, passes.fours - 1, 0});
      inverse_pass<4, 0, true>(x, part, 1);
    } else if (passes.twos > 0) {
      for (std::size_t i = 0; i < 2; ++i) inverse_tail<false>(x + i * kTail, 3 - i);
      inverse_pass<2, 0, true>(x, kTail, 1);
    } else {
      inverse_tail<true>(x, 1);
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

  __attribute__((always_inline)) void forward_tail(Word* x, std::size_t k) const noexcept {
    const double* w = table_.heads.data();
    const Factor scalar[4] = {{}, factor(w[k]), factor(w[2 * k]), factor(w[2 * k + 1])};
    Factor lanes[4];
    tail_factors(k, lanes);
    F64 v[4] = {V::load(x), V::load(x + 4), V::load(x + 8), V::load(x + 12)};
    forward_stages<4, kRanges.forward_tail_first>(v, scalar);
    V::transpose(v[0], v[1], v[2], v[3]);
    forward_stages<4, kRanges.forward_tail_second>(v, lanes);
    reduce_some<0b1111>(v);
    V::transpose(v[0], v[1], v[2], v[3]);
    for (std::size_t j = 0; j < 4; ++j) V::store(x + 4 * j, v[j]);
  }

  // Blocks mirror: transposing rows in reverse order reverses the lanes, as the factors of the mirrored group need it.
  template <bool kLast>
  __attribute__((always_inline)) void inverse_tail(Word* x, std::size_t k) const noexcept {
    const double* w = table_.heads.data();
    Factor lanes[4];
    tail_factors(k, lanes);
    std::swap(lanes[2], lanes[3]);
    Factor scalar[4] = {factor(table_.inverse_degree), factor(w[k]), factor(w[2 * k + 1]), factor(w[2 * k])};
    if constexpr (kLast) scalar[1] = factor(table_.inverse_degree_root);
    F64 v[4] = {V::load(x), V::load(x + 4), V::load(x + 8), V::load(x + 12)};
    V::transpose(v[3], v[2], v[1], v[0]);
    std::swap(v[0], v[3]);
    std::swap(v[1], v[2]);
    inverse_stages<4, kRanges.inverse_tail_first, false>(v, lanes);
    std::swap(v[0], v[3]);
    std::swap(v[1], v[2]);
    V::transpose(v[3], v[2], v[1], v[0]);
    inverse_stages<4, kRanges.inverse_tail_second, kLast>(v, scalar);
    for (std::size_t j = 0; j < 4; ++j) V::store(x + 4 * j, v[j]);
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
    if (passes.twos > 0) {
      each(2, [&](Word* y, std::size_t d, std::size_t i) { forward_pass<2, kRanges.forward2>(y, d, i); });
    }
    for (std::size_t i = 0; i < size / kTail; ++i) forward_tail(x + i * kTail, first + i);
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
    const std::size_t tails = size / kTail;
    for (std::size_t i = 0; i < tails; ++i) inverse_tail<false>(x + i * kTail, tails * k + tails - 1 - i);
    std::size_t part = kTail;
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
