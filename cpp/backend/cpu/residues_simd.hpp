// Limbs of integers to limbs at rest, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backend/cpu/prime_simd.hpp"

namespace lw::cpu {
namespace {

/// Balanced doubles of canonical words, and whether any word was not.
template <class V>
class FromCanonical {
 public:
  explicit FromCanonical(const Prime& p) noexcept
      : q_(V::set(p.q)), half_(V::set((p.q - 1) / 2)), above_(static_cast<std::uint64_t>(p.q) - 1) {}

  typename V::F64 operator()(typename V::I64 x) noexcept {
    above_.show(x);
    return V::sub_above(V::from_words(x), half_, q_);
  }
  bool all_right() const noexcept { return above_.none(); }

 private:
  const typename V::F64 q_, half_;
  typename V::Above above_;
};

/// A vector of packed coefficients that begin at bit `bit` of a run of bytes: two from each of some loads of 16 bytes.
template <class V>
class Packed {
 public:
  Packed(unsigned bit, unsigned width) noexcept {
    alignas(64) std::uint8_t order[8 * V::kWords];
    alignas(64) std::int64_t shifts[V::kWords];
    for (unsigned k = 0; k < V::kWords; ++k) {
      const std::size_t place = (bit + k / 2 * 2 * width) / 8;
      const std::size_t at = bit + k * width - 8 * place;
      places_[k / 2] = place;
      for (unsigned byte = 0; byte < 8; ++byte) order[8 * k + byte] = static_cast<std::uint8_t>(at / 8 + byte);
      shifts[k] = static_cast<std::int64_t>(at % 8);
    }
    order_ = V::load(reinterpret_cast<const std::int64_t*>(order));
    shifts_ = V::load(shifts);
  }

  typename V::I64 load(const std::byte* from, typename V::I64 mask) const noexcept {
    const typename V::I64 bytes = V::reorder_bytes(V::load_pairs(from, places_), order_);
    return V::bit_and(V::shift_right(bytes, shifts_), mask);
  }

 private:
  std::size_t places_[V::kWords / 2];
  typename V::I64 order_, shifts_;
};

template <class V>
bool from_canonical(Word* out, const Word* words, std::size_t n, const Prime& p) noexcept {
  FromCanonical<V> convert(p);
  for (std::size_t i = 0; i < n; i += V::kWords) V::store(out + i, convert(V::load_words(words + i)));
  return convert.all_right();
}

template <class V>
void to_canonical(Word* words, const Word* in, std::size_t n, const Prime& p) noexcept {
  const typename V::F64 q = V::set(p.q);
  for (std::size_t i = 0; i < n; i += V::kWords) {
    V::store_words(words + i, V::to_words(V::add_below_zero(V::load(in + i), q)));
  }
}

/// Integers of `width` bytes to balanced doubles, as many as a vector has words.
template <class V>
class NarrowIntegers {
 public:
  explicit NarrowIntegers(unsigned width) noexcept
      : down_(V::set(1.0 / static_cast<double>(std::uint64_t{1} << (64 - 8 * width)))),
        down_from_high_(V::set(0x1p32 / static_cast<double>(std::uint64_t{1} << (64 - 8 * width)))) {
    alignas(64) std::uint8_t order[8 * V::kWords];
    for (unsigned k = 0; k < V::kWords; ++k) {  // to the upper bytes of a word, which have the sign
      if (k % 2 == 0) places_[k / 2] = std::size_t{k} * width;
      for (unsigned byte = 0; byte < 8; ++byte) {
        const unsigned from = k % 2 * width + byte + width - 8;
        order[8 * k + byte] = static_cast<std::uint8_t>(byte + width < 8 ? 0x80 : from);  // 0x80: zero
      }
    }
    order_ = V::load(reinterpret_cast<const std::int64_t*>(order));
  }

  /// Reads up to 16 bytes from the beginning of the last two.
  [[gnu::always_inline]] typename V::F64 operator()(const std::byte* from) const noexcept {
    const typename V::I64 x = V::reorder_bytes(V::load_pairs(from, places_), order_);
    return V::fma(V::signed_high(x), down_from_high_, V::mul(V::low_half(x), down_));
  }

 private:
  const typename V::F64 down_, down_from_high_;
  std::size_t places_[V::kWords / 2];
  typename V::I64 order_;
};

template <class V>
void import_narrow(Word* out, const std::byte* from, unsigned width, std::size_t n, const Prime& p) noexcept {
  const PrimeVectors<V> prime(p);
  const NarrowIntegers<V> integers(width);
  constexpr std::size_t kLast = 16;  // where 16 bytes may be more than are left
  std::size_t i = 0;
  for (; i + kLast < n; i += V::kWords) V::store(out + i, prime.reduce(integers(from + i * width)));
  std::byte last[kLast * 6 + 16] = {};
  std::memcpy(last, from + i * width, (n - i) * width);
  for (std::size_t k = 0; i < n; i += V::kWords, k += V::kWords) {
    V::store(out + i, prime.reduce(integers(last + k * width)));
  }
}

/// Packed coefficients, eight at a time.
template <class V>
class Unpacker {
 public:
  Unpacker(unsigned width, const Prime& p) noexcept
      : convert_(p), mask_(V::set_words(~std::uint64_t{0} >> (64 - width))), low_(0, width), high_(4 * width, width) {}

  /// The group that begins at `from`, by write(to, vector).
  template <class Write>
  [[gnu::always_inline]] void group(Word* out, const std::byte* from, const Write& write) noexcept {
    write(out, convert_(low_.load(from, mask_)));
    if constexpr (V::kWords == 4) write(out + 4, convert_(high_.load(from, mask_)));
  }
  bool all_right() const noexcept { return convert_.all_right(); }

 private:
  FromCanonical<V> convert_;
  const typename V::I64 mask_;
  const Packed<V> low_, high_;  // vectors of eight words need the first alone
};

template <class V>
bool unpack(Word* out, const std::byte* from, unsigned width, std::size_t n, const Prime& p) noexcept {
  if (n == 0) return true;
  Unpacker<V> unpacker(width, p);
  for (std::size_t i = 0; i < n; i += 8, from += width) {
    unpacker.group(out + i, from, [](Word* to, typename V::F64 x) { V::store(to, x); });
  }
  return unpacker.all_right();
}

}  // namespace
}  // namespace lw::cpu
