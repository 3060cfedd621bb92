#include "math/fast_sum.hpp"

#include <algorithm>
#include <bit>

namespace lw {

static_assert(std::endian::native == std::endian::little, "words are read from bytes as they are");

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
  Sums sums = sums_;
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
