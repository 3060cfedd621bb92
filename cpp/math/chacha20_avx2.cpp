// Eight blocks of ChaCha20 at a time, one in each 32-bit word of AVX2.
#include "math/words_avx2.hpp"
// after the words that it transposes
#include "math/chacha20_simd.hpp"

namespace lw {

void chacha20_eight_blocks_avx2(const std::uint32_t state[16], std::uint8_t* out) noexcept {
  chacha20_blocks<Words8>(state, out);
}

}  // namespace lw
