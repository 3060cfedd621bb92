// Eight 32-bit words side by side, by AVX2: see simd_words.hpp. Only for files named for the instruction set.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lw {
namespace {

using Words8 = std::uint32_t __attribute__((vector_size(32)));

/// Rows become columns: afterwards word i of x[j] is what word j of x[i] was.
inline void transpose(Words8 (&x)[8]) noexcept {
  __m256i pairs[8], fours[8];
  const auto in = [&](std::size_t i) { return reinterpret_cast<__m256i>(x[i]); };
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_epi32(in(i), in(i + 1));
    pairs[i + 1] = _mm256_unpackhi_epi32(in(i), in(i + 1));
  }
#pragma GCC unroll 2
  for (std::size_t i = 0; i < 8; i += 4) {
    fours[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
    fours[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
    fours[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    fours[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
    x[i] = reinterpret_cast<Words8>(_mm256_permute2x128_si256(fours[i], fours[i + 4], 0x20));
    x[i + 4] = reinterpret_cast<Words8>(_mm256_permute2x128_si256(fours[i], fours[i + 4], 0x31));
  }
}

}  // namespace
}  // namespace lw
