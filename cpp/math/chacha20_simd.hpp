// Wider steps of the ChaCha20 keystream, for machines that have the instructions.
#pragma once

#include <cstdint>

namespace lw {

/// 512 bytes: the blocks with counters state[12] to state[12] + 7. For AVX2.
void chacha20_eight_blocks_avx2(const std::uint32_t state[16], std::uint8_t* out) noexcept;
/// 1024 bytes: those up to state[12] + 15. For AVX-512F.
void chacha20_sixteen_blocks_avx512(const std::uint32_t state[16], std::uint8_t* out) noexcept;

}  // namespace lw
