// Powers of two and bit reversal.
#pragma once

#include <bit>
#include <cstdint>

namespace lw {

/// log2 of a power of two.
constexpr unsigned log2_exact(std::uint64_t power) noexcept { return static_cast<unsigned>(std::countr_zero(power)); }

/// The lowest `bits` bits of x in reverse order, bits <= 32.
constexpr std::uint32_t reverse_bits(std::uint32_t x, unsigned bits) noexcept {
  x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
  x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
  x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
  x = (x & 0x00ff00ffu) << 8 | (x >> 8 & 0x00ff00ffu);
  x = x << 16 | x >> 16;
  return bits == 0 ? 0 : x >> (32 - bits);
}

}  // namespace lw
