// Four 32-bit words side by side: the SIMD vector of the hash and of the stream cipher, both of which run four
// independent blocks per step. The compiler maps it to SSE2, NEON or scalar code.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace lw {

static_assert(std::endian::native == std::endian::little, "words are read from and written to bytes as they are");

using Words4 = std::uint32_t __attribute__((vector_size(16)));
inline constexpr std::size_t kWords = 4;

inline Words4 broadcast(std::uint32_t x) noexcept { return Words4{x, x, x, x}; }

/// Rotates one 32-bit word right by kBits, or each word of a vector.
template <int kBits, typename Word>
inline Word rotate_right(Word x) noexcept {
  if constexpr (sizeof(Word) == 32 && kBits % 8 == 0) {  // whole bytes, where vectors have no rotation
    using Bytes = std::uint8_t __attribute__((vector_size(32)));
    return [&]<std::size_t... kByte>(std::index_sequence<kByte...>) {
      const Bytes bytes = reinterpret_cast<Bytes>(x);
      return reinterpret_cast<Word>(
          __builtin_shufflevector(bytes, bytes, (kByte / 4 * 4 + (kByte + kBits / 8) % 4)...));
    }(std::make_index_sequence<32>{});
  }
  return (x >> kBits) | (x << (32 - kBits));
}

inline Words4 load_words(const std::uint8_t* from) noexcept {
  Words4 x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

inline void store_words(std::uint8_t* to, Words4 x) noexcept { std::memcpy(to, &x, sizeof x); }

/// Rows become columns: afterwards word i of x[j] is what word j of x[i] was.
inline void transpose(Words4 x[kWords]) noexcept {
  const Words4 low01 = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
  const Words4 high01 = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
  const Words4 low23 = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
  const Words4 high23 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
  x[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  x[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  x[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  x[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

}  // namespace lw
