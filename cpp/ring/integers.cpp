#include "ring/integers.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace lw {
namespace {

/// The least bytes that hold each of these.
std::uint32_t width_of(std::span<const std::int64_t> values, bool is_on_host) noexcept {
  std::uint64_t magnitudes = 0;
  for (const std::int64_t x : values) magnitudes |= static_cast<std::uint64_t>(x < 0 ? ~x : x);
  const auto least = static_cast<std::uint32_t>(std::bit_width(magnitudes) / 8 + 1);  // with the sign
  if (!is_on_host) return least <= 4 ? 4 : 8;
  return least <= 2 ? 2 : least <= 6 ? least : 8;
}

bool are_mirrored(std::span<const std::int64_t> values) noexcept {
  const std::size_t half = values.size() / 2;
  if (half == 0 || values[half] != 0) return false;
  for (std::size_t i = 1; i < half; ++i) {
    if (values[values.size() - i] != -values[i]) return false;
  }
  return true;
}

std::vector<std::byte> packed(std::span<const std::int64_t> values, std::uint32_t width) {
  std::vector<std::byte> bytes(values.size() * width);
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(bytes.data() + i * width, &values[i], width);
  return bytes;
}

}  // namespace

Integers::Integers(const Ring& ring, std::span<const std::int64_t> values)
    : count_(values.size()),
      width_(width_of(values, ring.backend().form().is_on_host())),
      is_mirrored_(ring.backend().form().is_on_host() && are_mirrored(values)) {
  if (is_mirrored_) values = values.first(count_ / 2);
  const std::vector<std::byte> bytes = packed(values, width_);
  buffer_ = ring.device().allocate(bytes.size());
  ring.device().upload(ring.queue(), {buffer_.to_write(), bytes.data(), bytes.size(), 1, bytes.size(), bytes.size()});
}

}  // namespace lw
