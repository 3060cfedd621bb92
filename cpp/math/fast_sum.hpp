// A checksum for bytes that were verified by their hash before: it finds bit
// rot and torn reads at memory speed, and is no protection against anybody.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace lw {

/// The input, padded with zeros to a multiple of 32 bytes, is read as little-endian 64-bit words. Word i goes into
/// partial sum i mod 4, of which number j starts as j + 1, by
///     sum = rotate_left((sum ^ word) * 0x9e3779b97f4a7c15, 29).
/// Then the number of bytes and the four partial sums, in this order, go the same way into one more that starts at 0;
/// it ends as the result. Every step is a bijection of the sum and of the word: a change inside a single word always
/// changes the result.
class FastSum {
 public:
  static constexpr std::size_t kStripeBytes = 32;
  using Sums = std::array<std::uint64_t, 4>;

  void update(std::span<const std::uint8_t> input) noexcept;
  /// The sum of all input so far; more may follow.
  std::uint64_t value() const noexcept;

  /// The partial sums of whole stripes, for who adds up some stripes himself and then puts the sums back. Inlined
  /// everywhere, since files for other instruction sets use it too.
  const Sums& partial_sums() const noexcept { return sums_; }
  void put_back(const Sums& sums, std::size_t stripes) noexcept {
    sums_ = sums;
    num_bytes_ += stripes * kStripeBytes;
  }
  [[gnu::always_inline]] static inline void add_stripe(Sums& sums, const void* stripe) noexcept {
    std::uint64_t words[4];
    std::memcpy(words, stripe, sizeof words);
    for (std::size_t i = 0; i < 4; ++i) sums[i] = step(sums[i], words[i]);
  }

 private:
  [[gnu::always_inline]] static inline std::uint64_t step(std::uint64_t sum, std::uint64_t word) noexcept {
    const std::uint64_t product = (sum ^ word) * 0x9e3779b97f4a7c15;
    return product << 29 | product >> 35;
  }

  Sums sums_ = {1, 2, 3, 4};
  std::array<std::uint8_t, kStripeBytes> pending_{};
  std::uint64_t num_bytes_ = 0;
};

std::uint64_t fast_sum(std::span<const std::uint8_t> input) noexcept;

}  // namespace lw
