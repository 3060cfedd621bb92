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

Plaintext PlaintextProvider::acquire(std::uint32_t constant, const ValueType& type) {
  const Name name{constant, type.slots, type.level.track, type.level.index, type.scale, type.basis};
  {
    const std::lock_guard lock(mutex_);
    if (const auto place = places_.find(name); place != places_.end()) {
      recent_.splice(recent_.begin(), recent_, place->second);
      return recent_.front().value;
    }
  }
  const Plaintext value = encode(constant, type);
  insert(name, value);
  return value;
}

std::size_t PlaintextProvider::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return cached_bytes_;
}

Plaintext PlaintextProvider::encode(std::uint32_t constant, const ValueType& type) const {
  const std::vector<std::complex<double>> values = source_(constant);
  if (values.empty() || type.slots % values.size() != 0) {
    throw Error(ErrorKind::kShape, "constant " + std::to_string(constant) + " has " + std::to_string(values.size()) +
                                       " values, which do not fill " + std::to_string(type.slots) + " slots");
  }
  Plaintext value = ckks::Encoder(*context_).encode(values, type.level, type.scale, type.basis);
  value.slots = type.slots;
  return value;
}

void PlaintextProvider::insert(const Name& name, const Plaintext& value) {
  const std::lock_guard lock(mutex_);
  if (value.num_bytes() > budget_bytes_ || places_.contains(name)) return;
  recent_.push_front({name, value});
  places_[name] = recent_.begin();
  cached_bytes_ += value.num_bytes();
  while (cached_bytes_ > budget_bytes_) {
    cached_bytes_ -= recent_.back().value.num_bytes();
    places_.erase(recent_.back().name);
    recent_.pop_back();
  }
}

}  // namespace lw
