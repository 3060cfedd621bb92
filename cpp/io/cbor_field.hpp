// Reading a decoded document field by field: what is missing or of another
// type is an lw::Error(kFormat) that names the field by its path, such as
// "header: parameters.primes[3]: expected an unsigned integer, got text".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "io/cbor.hpp"

namespace lw::cbor {

/// One value inside a document. Cheap to copy; the document and `name` must outlive it.
class Field {
 public:
  /// name: what messages call the document.
  explicit Field(const Value& document, std::string_view name = "cbor") noexcept
      : document_(&document), value_(&document), name_(name) {}

  const Value& value() const noexcept { return *value_; }
  /// The path of the field in the document, such as "parameters.primes[3]".
  std::string path() const;

  Field operator[](std::string_view key) const;
  Field operator[](std::size_t index) const;
  /// The value of an optional key of a map.
  std::optional<Field> find(std::string_view key) const;
  /// The number of items of an array.
  std::size_t size() const;
  /// Requires that a map has exactly these keys.
  void require_keys(std::span<const std::string_view> keys) const;
  void require_keys(std::initializer_list<std::string_view> keys) const {
    require_keys(std::span(keys.begin(), keys.size()));
  }

  bool is_null() const noexcept { return value_->get_if<std::nullptr_t>() != nullptr; }
  bool as_bool() const;
  /// An unsigned integer of at most `max`.
  std::uint64_t as_unsigned(std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) const;
  std::int64_t as_signed() const;
  double as_double() const;
  std::string_view as_text() const;
  std::span<const std::uint8_t> as_bytes() const;
  const Array& as_array() const;
  const Map& as_map() const;

  /// An array of unsigned integers, each of which fits T.
  template <typename T>
  std::vector<T> as_unsigned_list() const {
    static_assert(std::is_unsigned_v<T>);
    std::vector<T> list;
    for (std::size_t i = 0; i < size(); ++i) {
      list.push_back(static_cast<T>((*this)[i].as_unsigned(std::numeric_limits<T>::max())));
    }
    return list;
  }

  /// Throws lw::Error(kFormat) with "<name>: <path>: <what>", for checks of the caller's own.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  template <typename T>
  const T& expect(const char* what) const;
  Field at(const Value& value) const noexcept;

  const Value* document_;
  const Value* value_;
  std::string_view name_;
};

}  // namespace lw::cbor
