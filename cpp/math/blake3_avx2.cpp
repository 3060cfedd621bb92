// Eight inputs of BLAKE3 at a time, one in each 32-bit word of AVX2.
#include "math/blake3_simd.hpp"
#include "math/words_avx2.hpp"

namespace lw {

void blake3_eight_avx2(const Blake3Inputs& inputs, std::uint32_t* out) noexcept {
  const auto load = [&](Words8(&m)[16], const std::uint8_t* block) {
    for (std::size_t half = 0; half < 2; ++half) {
      Words8 rows[8];
      for (std::size_t i = 0; i < 8; ++i) std::memcpy(&rows[i], block + i * inputs.stride + 32 * half, 32);
      transpose(rows);
      for (std::size_t i = 0; i < 8; ++i) m[8 * half + i] = rows[i];
    }
  };
  hash_inputs<Words8>(inputs, load, [&](Words8(&cv)[8]) {
    transpose(cv);
    std::memcpy(out, cv, sizeof cv);
  });
}

}  // namespace lw
