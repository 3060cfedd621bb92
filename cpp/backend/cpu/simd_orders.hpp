// The order of words in SIMD vectors under an automorphism. An aligned block of L words, one vector, goes as a whole:
// in bit-reversed positions its exponents are e + reverse(k) 2N/L, so those of its image are too, and word k goes to or
// comes from the place whose reversed number is reverse(k) g + offset modulo L.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace lw::cpu {
namespace {

template <class V>
class WordOrders {
 public:
  static constexpr std::size_t kWords = V::kWords;
  static constexpr unsigned kLogWords = std::countr_zero(kWords);

  constexpr WordOrders() noexcept {
    for (std::size_t element = 1; element < kWords; element += 2) {
      for (std::size_t offset = 0; offset < kWords; ++offset) {
        for (std::size_t k = 0; k < kWords; ++k) {
          orders_[element / 2][offset].set(k, reverse((reverse(k) * element + offset) % kWords));
        }
      }
    }
  }
  using Order = typename V::Order;
  /// The orders of Galois element g, by offset.
  constexpr const Order (&of(std::uint32_t g) const noexcept)[kWords] { return orders_[g % kWords / 2]; }

 private:
  static constexpr std::size_t reverse(std::size_t k) noexcept {
    std::size_t reversed = 0;
    for (unsigned bit = 0; bit < kLogWords; ++bit) reversed |= (k >> bit & 1) << (kLogWords - 1 - bit);
    return reversed;
  }

  Order orders_[kWords / 2][kWords] = {};
};

template <class V>
constexpr WordOrders<V> kWordOrders;

/// Blocks of as many words as V has, and where they lie: block i of a limb is number reversal(i) of its exponents.
template <class V>
class Blocks {
 public:
  /// four_reversal: i with its bits reversed, for the aligned blocks of four words.
  Blocks(const std::uint32_t* four_reversal, std::size_t degree) noexcept
      : four_reversal_(four_reversal),
        log_count_(static_cast<unsigned>(std::countr_zero(degree)) - WordOrders<V>::kLogWords) {}

  std::uint32_t count() const noexcept { return 1u << log_count_; }
  /// The exponent (e - 1) / 2 of block i's first word, times g: (e g - 1) / 2.
  std::uint32_t half(std::uint32_t i, std::uint32_t g) const noexcept { return (2 * reversal(i) + 1) * g / 2; }
  /// The first word of the block with such an exponent, and its offset.
  std::size_t place(std::uint32_t half) const noexcept {
    return V::kWords * std::size_t{reversal(half & (count() - 1))};
  }
  std::uint32_t offset(std::uint32_t half) const noexcept { return half >> log_count_; }

 private:
  // Numbers below the count have a bit less here for every doubling of the block.
  std::uint32_t reversal(std::uint32_t i) const noexcept { return four_reversal_[i] >> (WordOrders<V>::kLogWords - 2); }

  const std::uint32_t* four_reversal_;
  unsigned log_count_;
};

}  // namespace
}  // namespace lw::cpu
