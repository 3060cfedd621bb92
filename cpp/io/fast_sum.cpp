#include "io/fast_sum.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lw {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read from bytes as they are");

std::uint64_t step(std::uint64_t sum, std::uint64_t word) noexcept {
  return std::rotl((sum ^ word) * 0x9e3779b97f4a7c15, 29);
}

void add_stripe(std::array<std::uint64_t, 4>& sums, const std::uint8_t* stripe) noexcept {
  std::uint64_t words[4];
  std::memcpy(words, stripe, sizeof words);
  for (std::size_t i = 0; i < 4; ++i) sums[i] = step(sums[i], words[i]);
}

}  // namespace

void FastSum::update(std::span<const std::uint8_t> input) noexcept {
  const std::size_t pending = num_bytes_ % kStripeBytes;
  num_bytes_ += input.size();
  if (pending != 0) {
    const std::size_t taken = std::min(kStripeBytes - pending, input.size());
    std::copy_n(input.begin(), taken, pending_.begin() + pending);
    input = input.subspan(taken);
    if (pending + taken < kStripeBytes) return;
    add_stripe(sums_, pending_.data());
  }
  for (; input.size() >= kStripeBytes; input = input.subspan(kStripeBytes)) add_stripe(sums_, input.data());
  std::copy(input.begin(), input.end(), pending_.begin());
}

std::uint64_t FastSum::value() const noexcept {
  std::array<std::uint64_t, 4> sums = sums_;
  const std::size_t pending = num_bytes_ % kStripeBytes;
  if (pending != 0) {
    std::array<std::uint8_t, kStripeBytes> last{};
    std::copy_n(pending_.begin(), pending, last.begin());
    add_stripe(sums, last.data());
  }
  std::uint64_t sum = step(0, num_bytes_);
  for (const std::uint64_t part : sums) sum = step(sum, part);
  return sum;
}

std::uint64_t fast_sum(std::span<const std::uint8_t> input) noexcept {
  FastSum sum;
  sum.update(input);
  return sum.value();
}

}  // namespace lw
