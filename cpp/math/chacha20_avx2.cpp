// Eight blocks of ChaCha20 at a time, one in each 32-bit word of AVX2.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "math/chacha20_simd.hpp"

namespace lw {
namespace {

using Words8 = __m256i;

template <int kBits>
inline Words8 rotate_left(Words8 x) noexcept {
  if constexpr (kBits == 16 || kBits == 8) {  // whole bytes
    const Words8 order = kBits == 16 ? _mm256_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 2, 3, 0,
                                                        1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
                                     : _mm256_setr_epi8(3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14, 3, 0, 1,
                                                        2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14);
    return _mm256_shuffle_epi8(x, order);
  } else {
    return _mm256_or_si256(_mm256_slli_epi32(x, kBits), _mm256_srli_epi32(x, 32 - kBits));
  }
}

template <int kBits>
inline void half_step(Words8& a, Words8 b, Words8& d) noexcept {
  a = _mm256_add_epi32(a, b);
  d = rotate_left<kBits>(_mm256_xor_si256(d, a));
}

// Four quarter rounds side by side, on columns or on diagonals: `shift` words of rotation between the rows.
template <std::size_t kShift>
inline void four_quarter_rounds(Words8 (&x)[16]) noexcept {
  const auto step = [&](auto body) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      body(x[i], x[4 + (i + kShift) % 4], x[8 + (i + 2 * kShift) % 4], x[12 + (i + 3 * kShift) % 4]);
    }
  };
  step([](Words8& a, Words8& b, Words8&, Words8& d) { half_step<16>(a, b, d); });
  step([](Words8&, Words8& b, Words8& c, Words8& d) { half_step<12>(c, d, b); });
  step([](Words8& a, Words8& b, Words8&, Words8& d) { half_step<8>(a, b, d); });
  step([](Words8&, Words8& b, Words8& c, Words8& d) { half_step<7>(c, d, b); });
}

// Words of eight vectors to eight runs of 32 bytes, 64 bytes apart.
inline void store_transposed(std::uint8_t* out, const Words8* x) noexcept {
  Words8 pairs[8], fours[8];
  for (std::size_t i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_epi32(x[i], x[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_epi32(x[i], x[i + 1]);
  }
  for (std::size_t i = 0; i < 8; i += 4) {
    fours[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
    fours[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
    fours[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    fours[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const Words8 low = _mm256_permute2x128_si256(fours[i], fours[i + 4], 0x20);
    const Words8 high = _mm256_permute2x128_si256(fours[i], fours[i + 4], 0x31);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 64 * i), low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 64 * (i + 4)), high);
  }
}

}  // namespace

void chacha20_eight_blocks_avx2(const std::uint32_t state[16], std::uint8_t* out) noexcept {
  Words8 start[16], x[16];
  for (std::size_t i = 0; i < 16; ++i) start[i] = _mm256_set1_epi32(static_cast<int>(state[i]));
  start[12] = _mm256_add_epi32(start[12], _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  for (std::size_t i = 0; i < 16; ++i) x[i] = start[i];
  for (int round = 0; round < 10; ++round) {
    four_quarter_rounds<0>(x);
    four_quarter_rounds<1>(x);
  }
  for (std::size_t i = 0; i < 16; ++i) x[i] = _mm256_add_epi32(x[i], start[i]);
  store_transposed(out, x);
  store_transposed(out + 32, x + 8);
}

}  // namespace lw
