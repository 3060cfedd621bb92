#include "io/cbor.hpp"

#include <algorithm>
#include <tuple>

#include "io/cbor_wire.hpp"
#include "math/error.hpp"

namespace lw::cbor {
namespace {

/// The order of encoded text keys: their heads sort by length, equal heads leave the bytes to decide.
bool key_less(std::string_view a, std::string_view b) noexcept {
  return std::tuple(a.size(), a) < std::tuple(b.size(), b);
}

auto lower_bound(const std::vector<Entry>& entries, std::string_view key) noexcept {
  return std::lower_bound(entries.begin(), entries.end(), key,
                          [](const Entry& entry, std::string_view k) { return key_less(entry.key, k); });
}

}  // namespace

Map::Map(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) add(entry.key, entry.value);
}

void Map::add(std::string key, Value value) {
  const bool is_last = entries_.empty() || key_less(entries_.back().key, key);
  const auto position = is_last ? entries_.end() : entries_.begin() + (lower_bound(entries_, key) - entries_.begin());
  if (position != entries_.end() && position->key == key) {
    throw Error(ErrorKind::kValue, "cbor: the key \"" + key + "\" is given twice in one map");
  }
  entries_.insert(position, Entry{std::move(key), std::move(value)});
}

const Value* Map::find(std::string_view key) const noexcept {
  const auto position = lower_bound(entries_, key);
  return position != entries_.end() && position->key == key ? &position->value : nullptr;
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<std::uint8_t>(text[i++]);
    if (first < 0x80) continue;
    if (first < 0xc2 || first > 0xf4) return false;
    const int following = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    // The bounds of the second byte exclude overlong forms, surrogates and values above U+10FFFF.
    std::uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    std::uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    for (int k = 0; k < following; ++k, ++i) {
      if (i == text.size()) return false;
      const auto byte = static_cast<std::uint8_t>(text[i]);
      if (byte < low || byte > high) return false;
      low = 0x80;
      high = 0xbf;
    }
  }
  return true;
}

}  // namespace lw::cbor
