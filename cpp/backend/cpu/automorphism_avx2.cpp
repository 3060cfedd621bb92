// The value at psi^(e g) goes where that at psi^e was. The four words of an aligned block have exponents
// e0 + reverse(k) N/2, so their images lie in one block too, at lanes whose reversed number is
// reverse(k) g + turn modulo 4: one of four patterns for each class of g modulo 4.
#include <immintrin.h>

#include <bit>

#include "backend/cpu/lane_orders.hpp"
#include "backend/cpu/rows_avx2.hpp"

namespace lw::cpu::avx2 {
void automorphism(Word* out, const Word* a, const std::uint32_t* block_reversal, std::uint32_t blocks,
                  std::uint32_t galois_element) noexcept {
  const auto& patterns = kLaneOrders[galois_element % 4 == 3];
  const int log_blocks = std::countr_zero(blocks);
  const std::uint32_t mask = blocks - 1;
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const std::uint32_t half = (2 * block_reversal[i] + 1) * galois_element / 2;  // (e - 1) / 2 of the source
    const std::uint32_t turn = half >> log_blocks & 3;
    const __m256i pattern = _mm256_load_si256(reinterpret_cast<const __m256i*>(patterns[turn]));
    const float* from = reinterpret_cast<const float*>(a + std::size_t{4} * block_reversal[half & mask]);
    _mm256_storeu_ps(reinterpret_cast<float*>(out + std::size_t{4} * i),
                     _mm256_permutevar8x32_ps(_mm256_loadu_ps(from), pattern));
  }
}

}  // namespace lw::cpu::avx2
