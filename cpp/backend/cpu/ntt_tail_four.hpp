// The last two stages of the transforms with vectors of four words: within 4 adjacent positions, by transposing 4 x 4.
#pragma once

#include <cstddef>
#include <utility>

#include "backend/cpu/butterfly_simd.hpp"
#include "backend/cpu/ntt_ranges.hpp"
#include "backend/cpu/tables.hpp"

namespace lw::cpu {
namespace {

template <class V, NttRanges kRanges>
class FourTail {
 public:
  explicit FourTail(const NttTable& table) noexcept : table_(table), butterflies_(table.prime) {}

  /// A block of `size` words whose twiddle in its first stage is w[k]. The end of one tail is interleaved with the
  /// beginning of the next: neither waits for the other.
  void forward(Word* x, std::size_t size, std::size_t k) const noexcept {
    const std::size_t count = size / kTailWords;
    k *= count;
    F64 f[4], v[4];
    begin_forward(x, k, v, f);
    for (std::size_t i = 1; i < count; ++i) {
      butterflies_.forward(v[0], v[1], f[2]);
      butterflies_.forward(v[2], v[3], f[3]);
      F64 next[4];
      begin_forward(x + i * kTailWords, k + i, next, f);
      butterflies_.template reduce_some<0b1111>(v);
      V::store_columns(x + (i - 1) * kTailWords, 4, v);
      for (std::size_t j = 0; j < 4; ++j) v[j] = next[j];
    }
    butterflies_.forward(v[0], v[1], f[2]);
    butterflies_.forward(v[2], v[3], f[3]);
    butterflies_.template reduce_some<0b1111>(v);
    V::store_columns(x + (count - 1) * kTailWords, 4, v);
  }

  /// The same backwards; w[k] is the mirrored twiddle of the block. Transposing limbs in reverse order reverses the
  /// words, as the factors of the mirrored tail need it.
  void inverse(Word* out, const Word* x, std::size_t size, std::size_t k) const noexcept {
    const std::size_t count = size / kTailWords;
    for (std::size_t i = 0; i < count; ++i, x += kTailWords, out += kTailWords) {
      F64 f[4], v[4];
      factors(count * k + count - 1 - i, f);
      std::swap(f[2], f[3]);
      V::load_columns(v, x + 12, -4);
      butterflies_.template inverse_stages<kRanges.inverse_tail>(v, f);
      V::store_columns(out + 12, -4, v);
    }
  }

 private:
  static_assert(V::kWords == 4);
  using F64 = typename V::F64;

  // Of the tail whose first factor in blocks of kTailWords is w[k].
  void factors(std::size_t k, F64 (&f)[4]) const noexcept {
    const double* t = &table_.tails[12 * (k - table_.degree / kTailWords)];
    for (std::size_t i = 1; i < 4; ++i) f[i] = V::load(t + 4 * (i - 1));
  }
  void begin_forward(const Word* x, std::size_t k, F64 (&v)[4], F64 (&f)[4]) const noexcept {
    factors(k, f);
    V::load_columns(v, x, 4);
    butterflies_.template reduce_some<kRanges.forward_tail>(v);
    butterflies_.forward(v[0], v[2], f[1]);
    butterflies_.forward(v[1], v[3], f[1]);
  }

  const NttTable& table_;
  const Butterflies<V> butterflies_;
};

}  // namespace
}  // namespace lw::cpu
