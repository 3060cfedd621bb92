#include "exec/providers.hpp"

#include "math/error.hpp"
#include "schemes/ckks/encoder.hpp"

namespace lw {

KeyLease ResidentKeys::acquire(const KeySpec& spec) {
  KeyLease key = keys_->find(spec, *parameters_);
  if (key == nullptr) {
    throw Error(ErrorKind::kMissingKey, "the key set does not hold the " + describe(spec, parameters_->ring_degree()) +
                                            " for " + to_string(spec.level));
  }
  return key;
}

namespace {

std::size_t num_bytes(const std::vector<Plaintext>& plaintexts) {
  std::size_t total = 0;
  for (const Plaintext& plaintext : plaintexts) total += plaintext.num_bytes();
  return total;
}

}  // namespace

std::vector<Plaintext> PlaintextProvider::acquire(std::uint32_t constant, const ValueType& type) {
  return acquire(constant, std::nullopt, type);
}

Plaintext PlaintextProvider::acquire_product(std::uint32_t constant, std::uint32_t product, const ValueType& type) {
  ValueType single = type;
  single.count = 1;
  return acquire(constant, product, single)[0];
}

std::vector<Plaintext> PlaintextProvider::acquire(std::uint32_t constant, std::optional<std::uint32_t> product,
                                                  const ValueType& type) {
  const Name name{constant, product, type.slots, type.level.track, type.level.index, type.scale, type.basis};
  {
    const std::lock_guard lock(mutex_);
    if (const auto place = places_.find(name); place != places_.end()) {
      recent_.splice(recent_.begin(), recent_, place->second);
      return recent_.front().value;
    }
  }
  const std::vector<Plaintext> value = encode(constant, product, type);
  insert(name, value);
  return value;
}

std::size_t PlaintextProvider::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return cached_bytes_;
}

std::vector<Plaintext> PlaintextProvider::encode(std::uint32_t constant, std::optional<std::uint32_t> product,
                                                 const ValueType& type) const {
  const std::vector<std::complex<double>> values = source_(constant, product);
  const std::size_t width = values.size() / type.count;
  if (width == 0 || values.size() % type.count != 0 || type.slots % width != 0) {
    throw Error(ErrorKind::kShape, "constant " + std::to_string(constant) + " has " + std::to_string(values.size()) +
                                       " values, which do not fill " +
                                       (type.count == 1 ? "" : std::to_string(type.count) + " x ") +
                                       std::to_string(type.slots) + " slots");
  }
  std::vector<Plaintext> encoded;
  for (std::size_t first = 0; first < values.size(); first += width) {
    encoded.push_back(
        ckks::Encoder(*context_).encode(std::span(values).subspan(first, width), type.level, type.scale, type.basis));
    encoded.back().slots = type.slots;
  }
  return encoded;
}

void PlaintextProvider::insert(const Name& name, const std::vector<Plaintext>& value) {
  const std::lock_guard lock(mutex_);
  if (num_bytes(value) > budget_bytes_ || places_.contains(name)) return;
  recent_.push_front({name, value});
  places_[name] = recent_.begin();
  cached_bytes_ += num_bytes(value);
  while (cached_bytes_ > budget_bytes_) {
    cached_bytes_ -= num_bytes(recent_.back().value);
    places_.erase(recent_.back().name);
    recent_.pop_back();
  }
}

}  // namespace lw
