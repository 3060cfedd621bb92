// Sixteen inputs of BLAKE3 at a time, one in each 32-bit word of AVX-512.
#include "math/blake3_simd.hpp"
#include "math/words_avx512.hpp"

namespace lw {

void blake3_sixteen_avx512(const Blake3Inputs& inputs, std::uint32_t* out) noexcept {
  const auto load = [&](Words16(&m)[16], const std::uint8_t* block) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) std::memcpy(&m[i], block + i * inputs.stride, 64);
    transpose(m);
  };
  hash_inputs<Words16>(inputs, load, [&](Words16(&cv)[8]) {
    Words16 rows[16] = {};
    for (std::size_t i = 0; i < 8; ++i) rows[i] = cv[i];
    transpose(rows);
    for (std::size_t i = 0; i < 16; ++i) std::memcpy(out + 8 * i, &rows[i], 32);
  });
}

}  // namespace lw
