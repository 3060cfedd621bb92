// Sixteen blocks of ChaCha20 at a time, one in each 32-bit word of AVX-512.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "math/chacha20_simd.hpp"

namespace lw {
namespace {

using Words16 = __m512i;

template <int kBits>
inline void half_step(Words16& a, Words16 b, Words16& d) noexcept {
  a = _mm512_add_epi32(a, b);
  d = _mm512_rol_epi32(_mm512_xor_si512(d, a), kBits);
}

// Four quarter rounds side by side, on columns or on diagonals: `shift` words of rotation between the rows.
template <std::size_t kShift>
inline void four_quarter_rounds(Words16 (&x)[16]) noexcept {
  const auto step = [&](auto body) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      body(x[i], x[4 + (i + kShift) % 4], x[8 + (i + 2 * kShift) % 4], x[12 + (i + 3 * kShift) % 4]);
    }
  };
  step([](Words16& a, Words16& b, Words16&, Words16& d) { half_step<16>(a, b, d); });
  step([](Words16&, Words16& b, Words16& c, Words16& d) { half_step<12>(c, d, b); });
  step([](Words16& a, Words16& b, Words16&, Words16& d) { half_step<8>(a, b, d); });
  step([](Words16&, Words16& b, Words16& c, Words16& d) { half_step<7>(c, d, b); });
}

// Word b of vector w, to place w of block b: 4 x 4 words within each 128 bits, then those.
inline void store_transposed(std::uint8_t* out, const Words16 (&x)[16]) noexcept {
  Words16 fours[16];  // [4 * q + i]: words 4q to 4q + 3 of blocks i, 4 + i, 8 + i and 12 + i
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 16; i += 4) {
    const Words16 low0 = _mm512_unpacklo_epi32(x[i], x[i + 1]), high0 = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    const Words16 low1 = _mm512_unpacklo_epi32(x[i + 2], x[i + 3]), high1 = _mm512_unpackhi_epi32(x[i + 2], x[i + 3]);
    fours[i] = _mm512_unpacklo_epi64(low0, low1);
    fours[i + 1] = _mm512_unpackhi_epi64(low0, low1);
    fours[i + 2] = _mm512_unpacklo_epi64(high0, high1);
    fours[i + 3] = _mm512_unpackhi_epi64(high0, high1);
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
    const Words16 even0 = _mm512_shuffle_i32x4(fours[i], fours[4 + i], 0b10'00'10'00);       // blocks i and 8 + i
    const Words16 odd0 = _mm512_shuffle_i32x4(fours[i], fours[4 + i], 0b11'01'11'01);        // 4 + i and 12 + i
    const Words16 even1 = _mm512_shuffle_i32x4(fours[8 + i], fours[12 + i], 0b10'00'10'00);  // their later words
    const Words16 odd1 = _mm512_shuffle_i32x4(fours[8 + i], fours[12 + i], 0b11'01'11'01);
    _mm512_storeu_si512(out + 64 * i, _mm512_shuffle_i32x4(even0, even1, 0b10'00'10'00));
    _mm512_storeu_si512(out + 64 * (8 + i), _mm512_shuffle_i32x4(even0, even1, 0b11'01'11'01));
    _mm512_storeu_si512(out + 64 * (4 + i), _mm512_shuffle_i32x4(odd0, odd1, 0b10'00'10'00));
    _mm512_storeu_si512(out + 64 * (12 + i), _mm512_shuffle_i32x4(odd0, odd1, 0b11'01'11'01));
  }
}

}  // namespace

void chacha20_sixteen_blocks_avx512(const std::uint32_t state[16], std::uint8_t* out) noexcept {
  Words16 start[16], x[16];
  for (std::size_t i = 0; i < 16; ++i) start[i] = _mm512_set1_epi32(static_cast<int>(state[i]));
  const Words16 numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  start[12] = _mm512_add_epi32(start[12], numbers);
  for (std::size_t i = 0; i < 16; ++i) x[i] = start[i];
  for (int round = 0; round < 10; ++round) {
    four_quarter_rounds<0>(x);
    four_quarter_rounds<1>(x);
  }
  for (std::size_t i = 0; i < 16; ++i) x[i] = _mm512_add_epi32(x[i], start[i]);
  store_transposed(out, x);
}

}  // namespace lw
