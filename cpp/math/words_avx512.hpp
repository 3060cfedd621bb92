// Sixteen 32-bit words side by side, by AVX-512: see simd_words.hpp. Only for files named for the instruction set.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lw {
namespace {

using Words16 = std::uint32_t __attribute__((vector_size(64)));

/// Rows become columns: afterwards word i of x[j] is what word j of x[i] was. First 4 x 4 words within each 128 bits,
/// then those.
inline void transpose(Words16 (&x)[16]) noexcept {
  __m512i fours[16];  // [4 * q + i]: words 4q to 4q + 3 of rows i, 4 + i, 8 + i and 12 + i
  const auto in = [&](std::size_t i) { return reinterpret_cast<__m512i>(x[i]); };
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 16; i += 4) {
    const __m512i low0 = _mm512_unpacklo_epi32(in(i), in(i + 1)), high0 = _mm512_unpackhi_epi32(in(i), in(i + 1));
    const __m512i low1 = _mm512_unpacklo_epi32(in(i + 2), in(i + 3));
    const __m512i high1 = _mm512_unpackhi_epi32(in(i + 2), in(i + 3));
    fours[i] = _mm512_unpacklo_epi64(low0, low1);
    fours[i + 1] = _mm512_unpackhi_epi64(low0, low1);
    fours[i + 2] = _mm512_unpacklo_epi64(high0, high1);
    fours[i + 3] = _mm512_unpackhi_epi64(high0, high1);
  }
  const auto out = [&](std::size_t i, __m512i row) { x[i] = reinterpret_cast<Words16>(row); };
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
    const __m512i even0 = _mm512_shuffle_i32x4(fours[i], fours[4 + i], 0b10'00'10'00);       // rows i and 8 + i
    const __m512i odd0 = _mm512_shuffle_i32x4(fours[i], fours[4 + i], 0b11'01'11'01);        // 4 + i and 12 + i
    const __m512i even1 = _mm512_shuffle_i32x4(fours[8 + i], fours[12 + i], 0b10'00'10'00);  // their later words
    const __m512i odd1 = _mm512_shuffle_i32x4(fours[8 + i], fours[12 + i], 0b11'01'11'01);
    out(i, _mm512_shuffle_i32x4(even0, even1, 0b10'00'10'00));
    out(8 + i, _mm512_shuffle_i32x4(even0, even1, 0b11'01'11'01));
    out(4 + i, _mm512_shuffle_i32x4(odd0, odd1, 0b10'00'10'00));
    out(12 + i, _mm512_shuffle_i32x4(odd0, odd1, 0b11'01'11'01));
  }
}

}  // namespace
}  // namespace lw
