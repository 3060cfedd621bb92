#include "ring/integers.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lw {
namespace {

bool are_narrow(std::span<const std::int64_t> values) noexcept {
  return std::ranges::all_of(values, [](std::int64_t x) { return std::in_range<std::int32_t>(x); });
}

bool are_mirrored(std::span<const std::int64_t> values) noexcept {
  const std::size_t half = values.size() / 2;
  if (half == 0 || values[half] != 0) return false;
  for (std::size_t i = 1; i < half; ++i) {
    if (values[values.size() - i] != -values[i]) return false;
  }
  return true;
}

/// Packs values of 32 bits two to a word.
std::vector<Word> halves(std::span<const std::int64_t> values) {
  std::vector<Word> words((values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    words[i / 2] |= Word{static_cast<std::uint32_t>(values[i])} << 32 * (i % 2);
  }
  return words;
}

}  // namespace

Integers::Integers(const Ring& ring, std::span<const std::int64_t> values)
    : count_(values.size()),
      is_mirrored_(ring.backend().form().is_on_host() && are_mirrored(values)),
      is_narrow_(are_narrow(values)) {
  if (is_mirrored_) values = values.first(count_ / 2);
  const std::vector<Word> narrow = is_narrow_ ? halves(values) : std::vector<Word>();
  const std::size_t bytes = is_narrow_ ? narrow.size() * sizeof(Word) : values.size_bytes();
  const void* const from = is_narrow_ ? static_cast<const void*>(narrow.data()) : values.data();
  buffer_ = ring.device().allocate(bytes);
  ring.device().upload(ring.queue(), {buffer_.to_write(), from, bytes, 1, bytes, bytes});
}

}  // namespace lw
