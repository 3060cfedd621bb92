// The ChaCha20 keystream of RFC 8439 with a zero nonce.
#pragma once

#include <cstdint>
#include <span>

namespace lw {

/// Fills `out`, of any length, with the keystream that starts at 64-byte block `counter`.
/// Throws lw::Error(kValue) if that would pass block 2^32 - 1, where the stream would repeat.
void chacha20_keystream(std::span<const std::uint8_t, 32> key, std::uint32_t counter, std::span<std::uint8_t> out);

}  // namespace lw
