// The ChaCha20 keystream of RFC 8439 with a zero nonce.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "math/vector_sets.hpp"

namespace lw {

/// The words that a block is made from, which for the next one differ in word 12, the counter.
using ChaChaState = std::array<std::uint32_t, 16>;
ChaChaState chacha20_state(std::span<const std::uint8_t, 32> key, std::uint32_t counter) noexcept;

/// Fills `out`, of any length, with the keystream that starts at 64-byte block `counter`.
/// Throws lw::Error(kValue) if that would pass block 2^32 - 1, where the stream would repeat.
/// Vectors change no byte.
void chacha20_keystream(std::span<const std::uint8_t, 32> key, std::uint32_t counter, std::span<std::uint8_t> out,
                        VectorSet vectors = widest_vectors());

}  // namespace lw
