#include "exec/providers.hpp"

#include "math/error.hpp"

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
  const Name name{constant,   product,    type.slots,     type.level.track, type.level.index,
                  type.scale, type.basis, type.is_addend, type.count};
  Vectors rounded;
  {
    const std::lock_guard lock(mutex_);
    if (const auto place = entries_.find(name); place != entries_.end()) {
      CachedConstant& entry = place->second;
      if (!entry.lifted.empty()) {
        lifted_.splice(lifted_.begin(), lifted_, entry.recency);
        return entry.lifted;
      }
      rounded = entry.rounded;
    }
  }
  if (rounded.empty()) rounded = round(constant, product, type);
  const std::vector<Plaintext> lifted = lift(rounded, type);
  keep(name, std::move(rounded), lifted);
  return lifted;
}

std::size_t PlaintextProvider::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return rounded_bytes_ + lifted_bytes_;
}

PlaintextProvider::Vectors PlaintextProvider::round(std::uint32_t constant, std::optional<std::uint32_t> product,
                                                    const ValueType& type) const {
  const std::vector<std::complex<double>> values = source_(constant, product);
  const std::size_t width = values.size() / type.count;
  if (width == 0 || values.size() % type.count != 0 || type.slots % width != 0) {
    throw Error(ErrorKind::kShape, "constant " + std::to_string(constant) + " has " + std::to_string(values.size()) +
                                       " values, which do not fill " +
                                       (type.count == 1 ? "" : std::to_string(type.count) + " x ") +
                                       std::to_string(type.slots) + " slots");
  }
  Vectors rounded;
  for (std::size_t first = 0; first < values.size(); first += width) {
    rounded.push_back(std::make_shared<const Rounded>(scheme_->round(std::span(values).subspan(first, width), type)));
  }
  return rounded;
}

std::vector<Plaintext> PlaintextProvider::lift(const Vectors& rounded, const ValueType& type) const {
  std::vector<Plaintext> lifted;
  for (const auto& vector : rounded) {
    lifted.push_back(scheme_->lift(*vector, type));
    lifted.back().slots = type.slots;
  }
  return lifted;
}

void PlaintextProvider::keep(const Name& name, Vectors rounded, const std::vector<Plaintext>& lifted) {
  const std::lock_guard lock(mutex_);
  if (!entries_.contains(name) && !keep_rounded(name, std::move(rounded))) return;
  const auto place = entries_.find(name);
  CachedConstant& entry = place->second;
  if (!entry.lifted.empty() || rounded_bytes_ + lifted_bytes_ + num_bytes(lifted) > budget_bytes_) return;
  entry.lifted = lifted;
  lifted_bytes_ += num_bytes(lifted);
  lifted_.push_front(&place->first);
  entry.recency = lifted_.begin();
}

/// Whether there is room for the coefficients of another constant; whole plaintexts make way for them.
bool PlaintextProvider::keep_rounded(const Name& name, Vectors rounded) {
  std::size_t bytes = 0;
  std::vector<std::size_t> hashes;
  for (auto& vector : rounded) {
    hashes.push_back(vector->hash());
    const auto same = known_.find(hashes.back());
    if (same != known_.end() && *same->second == *vector) {
      vector = same->second;
    } else {
      bytes += vector->num_bytes();
    }
  }
  if (rounded_bytes_ + bytes > budget_bytes_) return false;
  while (rounded_bytes_ + lifted_bytes_ + bytes > budget_bytes_) drop(entries_.at(*lifted_.back()));
  for (std::size_t i = 0; i < rounded.size(); ++i) known_.try_emplace(hashes[i], rounded[i]);
  rounded_bytes_ += bytes;
  entries_[name].rounded = std::move(rounded);
  return true;
}

void PlaintextProvider::drop(CachedConstant& entry) {
  lifted_bytes_ -= num_bytes(entry.lifted);
  entry.lifted.clear();
  lifted_.erase(entry.recency);
}

}  // namespace lw
