// Coefficients of any width as they are stored: little endian, one after the other without gaps.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

#include "backend/kernels.hpp"
#include "math/modulus.hpp"

namespace lw {

static_assert(std::endian::native == std::endian::little, "packed rows are read and written through the low bytes");

inline constexpr std::size_t kPackedGroup = 8;  // coefficients that fill a whole number of bytes at every width

/// 8 coefficients of `width` bits, 1 to 64, to words.
inline void unpack_group(Word* out, const std::byte* from, unsigned width) noexcept {
  std::byte bytes[kPackedGroup * 8 + 8] = {};  // room for the 16-byte access at the last coefficient
  std::memcpy(bytes, from, width);
  const Word mask = ~Word{0} >> (64 - width);
  for (unsigned i = 0; i < kPackedGroup; ++i) {
    const unsigned bit = i * width;
    U128 window;
    std::memcpy(&window, bytes + bit / 8, sizeof window);
    out[i] = static_cast<Word>(window >> bit % 8) & mask;
  }
}

/// Integer number i of a view in memory of the host.
inline std::int64_t integer_at(const IntegerView& in, std::size_t i) noexcept {
  const std::size_t half = in.count / 2;
  if (in.is_mirrored && i >= half) return i == half ? 0 : -integer_at(in, in.count - i);
  Word word = 0;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(in.words) + i * in.width, in.width);
  const std::uint32_t above = 64 - 8 * in.width;
  return static_cast<std::int64_t>(word << above) >> above;
}

/// Words below 2^width to packed coefficients; count is a multiple of 8.
inline void pack_words(std::byte* to, const Word* in, std::size_t count, unsigned width) noexcept {
  Word pending = 0;
  unsigned num_bits = 0;  // in `pending`, below 64
  for (std::size_t i = 0; i < count; ++i) {
    pending |= in[i] << num_bits;
    num_bits += width;
    if (num_bits < 64) continue;
    std::memcpy(to, &pending, sizeof pending);
    to += sizeof pending;
    num_bits -= 64;
    pending = num_bits == 0 ? 0 : in[i] >> (width - num_bits);
  }
  std::memcpy(to, &pending, num_bits / 8);
}

}  // namespace lw
