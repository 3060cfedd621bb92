#include "io/cbor_field.hpp"

#include <algorithm>

#include "math/error.hpp"

namespace lw::cbor {
namespace {

constexpr const char* kTypeNames[] = {
    "null", "a boolean", "an unsigned integer", "a negative integer", "a float", "bytes", "text", "an array", "a map"};
static_assert(std::size(kTypeNames) == std::variant_size_v<Value::Storage>);

/// The path from `from` to `wanted`, found by address: paths cost nothing until there is an error to report.
std::optional<std::string> find_path(const Value& from, const Value& wanted, const std::string& path) {
  if (&from == &wanted) return path;
  if (const Array* array = from.get_if<Array>()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (auto found = find_path((*array)[i], wanted, path + "[" + std::to_string(i) + "]")) return found;
    }
  } else if (const Map* map = from.get_if<Map>()) {
    for (const Entry& entry : *map) {
      if (auto found = find_path(entry.value, wanted, path.empty() ? entry.key : path + "." + entry.key)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string Field::path() const { return find_path(*document_, *value_, "").value_or(""); }

void Field::fail(const std::string& what) const {
  const std::string where = path();
  throw Error(ErrorKind::kFormat, std::string(name_) + ": " + (where.empty() ? "" : where + ": ") + what);
}

template <typename T>
const T& Field::expect(const char* what) const {
  if (const T* content = value_->get_if<T>()) return *content;
  fail(std::string("expected ") + what + ", got " + kTypeNames[value_->storage().index()]);
}

Field Field::at(const Value& value) const noexcept {
  Field field = *this;
  field.value_ = &value;
  return field;
}

Field Field::operator[](std::string_view key) const {
  const auto field = find(key);
  if (!field) fail("the key \"" + std::string(key) + "\" is missing");
  return *field;
}

Field Field::operator[](std::size_t index) const {
  const Array& array = as_array();
  if (index >= array.size()) {
    fail("expected more than " + std::to_string(index) + " items, got " + std::to_string(array.size()));
  }
  return at(array[index]);
}

std::optional<Field> Field::find(std::string_view key) const {
  const Value* value = as_map().find(key);
  return value == nullptr ? std::nullopt : std::optional(at(*value));
}

std::size_t Field::size() const { return as_array().size(); }

void Field::require_keys(std::span<const std::string_view> keys) const {
  for (const std::string_view key : keys) (void)(*this)[key];
  for (const Entry& entry : as_map()) {
    if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) fail("the key \"" + entry.key + "\" is unknown");
  }
}

bool Field::as_bool() const { return expect<bool>("a boolean"); }

std::uint64_t Field::as_unsigned(std::uint64_t max) const {
  const std::uint64_t number = expect<std::uint64_t>("an unsigned integer");
  if (number > max) fail("expected at most " + std::to_string(max) + ", got " + std::to_string(number));
  return number;
}

std::int64_t Field::as_signed() const {
  if (const auto* negative = value_->get_if<std::int64_t>()) return *negative;
  const std::uint64_t number = expect<std::uint64_t>("an integer");
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (number > kMax) fail("expected at most " + std::to_string(kMax) + ", got " + std::to_string(number));
  return static_cast<std::int64_t>(number);
}

double Field::as_double() const { return expect<double>("a float"); }
std::string_view Field::as_text() const { return expect<std::string>("text"); }
std::span<const std::uint8_t> Field::as_bytes() const { return expect<Bytes>("bytes"); }
const Array& Field::as_array() const { return expect<Array>("an array"); }
const Map& Field::as_map() const { return expect<Map>("a map"); }

}  // namespace lw::cbor
