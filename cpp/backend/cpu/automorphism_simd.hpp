// The value at psi^(e g) goes where that at psi^e was, a block at a time (simd_orders.hpp).
#pragma once

#include "backend/cpu/prime.hpp"
#include "backend/cpu/simd_orders.hpp"

namespace lw::cpu {
namespace {

template <class V>
void automorphism(Word* out, const Word* a, const std::uint32_t* block_reversal, std::uint32_t degree,
                  std::uint32_t galois_element) noexcept {
  const auto& orders = kWordOrders<V>.of(galois_element);
  const Blocks<V> blocks(block_reversal, degree);
  for (std::uint32_t i = 0; i < blocks.count(); ++i) {
    const std::uint32_t half = blocks.half(i, galois_element);
    V::store(out + V::kWords * std::size_t{i},
             V::reorder(V::load(a + blocks.place(half)), orders[blocks.offset(half) % V::kWords]));
  }
}

}  // namespace
}  // namespace lw::cpu
