// Thirty-two blocks of ChaCha20 at a time, one in each 32-bit word of two vectors of AVX-512.
#include "math/words_avx512.hpp"
// after the words that it transposes
#include "math/chacha20_simd.hpp"

namespace lw {

void chacha20_thirty_two_blocks_avx512(const std::uint32_t state[16], std::uint8_t* out) noexcept {
  chacha20_blocks<Words16, 2>(state, out);
}

}  // namespace lw
