// Deterministic CBOR (RFC 8949, section 4.2): the subset in which headers,
// parameters and plan code are written. One value has exactly one encoding:
// null, booleans, integers in [-2^63, 2^64) in their shortest form, float64 in
// always nine bytes, byte strings, UTF-8 text, arrays, and maps with text keys
// in the bytewise order of the encoded keys. Everything else is refused.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lw::cbor {

class Value;

/// A template, so that it is complete as soon as Value is: Value's functions need that.
template <typename Value>
struct BasicEntry {
  std::string key;
  Value value;
};
using Entry = BasicEntry<Value>;
using Bytes = std::vector<std::uint8_t>;
using Array = std::vector<Value>;

/// Text keys, each once, kept in the order in which they are encoded: shorter first, then bytewise.
class Map {
 public:
  Map() = default;
  Map(std::initializer_list<Entry> entries);

  /// Throws lw::Error(kValue) if the key is there already.
  void add(std::string key, Value value);
  /// The value of a key; nullptr if there is no such key.
  const Value* find(std::string_view key) const noexcept;
  std::size_t size() const noexcept;
  std::vector<Entry>::const_iterator begin() const noexcept;
  std::vector<Entry>::const_iterator end() const noexcept;

 private:
  std::vector<Entry> entries_;
};

class Value {
 public:
  /// An int64_t here is always negative: other integers are stored unsigned.
  using Storage =
      std::variant<std::nullptr_t, bool, std::uint64_t, std::int64_t, double, Bytes, std::string, Array, Map>;

  Value() : storage_(nullptr) {}
  Value(std::nullptr_t) : storage_(nullptr) {}
  Value(std::same_as<bool> auto value) : storage_(value) {}
  Value(std::unsigned_integral auto value)
    requires(!std::same_as<decltype(value), bool>)
      : storage_(static_cast<std::uint64_t>(value)) {}
  Value(std::signed_integral auto value) {
    if (value < 0) {
      storage_ = static_cast<std::int64_t>(value);
    } else {
      storage_ = static_cast<std::uint64_t>(value);
    }
  }
  Value(double value) : storage_(value) {}
  Value(Bytes value) : storage_(std::move(value)) {}
  Value(std::span<const std::uint8_t> value) : storage_(Bytes(value.begin(), value.end())) {}
  Value(std::string value) : storage_(std::move(value)) {}
  Value(std::string_view value) : storage_(std::string(value)) {}
  Value(const char* value) : storage_(std::string(value)) {}
  Value(Array value) : storage_(std::move(value)) {}
  Value(Map value) : storage_(std::move(value)) {}

  /// An array of anything a Value can be made of.
  template <typename T>
  static Value array(std::span<const T> items) {
    return Value(Array(items.begin(), items.end()));
  }

  const Storage& storage() const noexcept { return storage_; }
  template <typename T>
  const T* get_if() const noexcept {
    return std::get_if<T>(&storage_);
  }

 private:
  Storage storage_;
};

inline std::size_t Map::size() const noexcept { return entries_.size(); }
inline std::vector<Entry>::const_iterator Map::begin() const noexcept { return entries_.begin(); }
inline std::vector<Entry>::const_iterator Map::end() const noexcept { return entries_.end(); }

inline constexpr std::size_t kMaxDepth = 32;  // arrays and maps inside one another

/// Throws lw::Error(kValue) for text that is not UTF-8 and for more than kMaxDepth nested containers.
Bytes encode(const Value& value);

struct Limits {
  std::size_t max_depth = kMaxDepth;
  std::size_t max_values = std::size_t{1} << 24;  // in all, nested ones included
};

/// Exactly one value, no bytes after it. Memory used is at most proportional to the input, whatever
/// lengths it claims. Throws lw::Error(kFormat) naming the byte at fault.
Value decode(std::span<const std::uint8_t> input, const Limits& limits = {});

}  // namespace lw::cbor
