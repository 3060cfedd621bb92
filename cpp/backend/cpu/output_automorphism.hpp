// Automorphisms that are applied while results are stored.
#pragma once

#include <bit>
#include <cstdint>

#include "backend/cpu/queue.hpp"

namespace lw::cpu {

/// g^-1 modulo 2^32, and so modulo every smaller power of two; g odd.
constexpr std::uint32_t inverse_of_odd(std::uint32_t g) noexcept {
  std::uint32_t inverse = g;  // right modulo 8, and each step doubles the number of right bits
  for (int i = 0; i < 4; ++i) inverse *= 2 - g * inverse;
  return inverse;
}

inline OutputAutomorphism output_automorphism(const CpuQueue& queue, std::uint64_t galois_element) noexcept {
  const std::uint32_t g = static_cast<std::uint32_t>(galois_element);
  return {queue.block_reversal.data(), g, inverse_of_odd(g) & (2 * queue.degree - 1)};
}

}  // namespace lw::cpu
