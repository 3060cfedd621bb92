#include "exec/providers.hpp"

#include <unistd.h>

#include "math/error.hpp"

namespace lw {

namespace {

/// Finds the keys of each use when it comes.
class ResidentRun final : public KeyRun {
 public:
  ResidentRun(std::shared_ptr<const EvaluationKeys> keys, std::shared_ptr<const Parameters> parameters,
              std::unique_ptr<KeyUses> uses)
      : keys_(std::move(keys)), parameters_(std::move(parameters)), uses_(std::move(uses)) {}

  const SwitchKeys& next() override {
    const KeyUse use = next_use(*uses_);
    std::vector<std::shared_ptr<const EvaluationKey>> found;
    for (const KeySpec& spec : use.keys) {
      found.push_back(keys_->find(spec, *parameters_));
      if (found.back() != nullptr) continue;
      throw Error(ErrorKind::kMissingKey, "the key set does not hold the " +
                                              describe(spec, parameters_->ring_degree()) + " for " +
                                              to_string(spec.level));
    }
    held_.emplace(std::move(found));
    return *held_;
  }

 private:
  std::shared_ptr<const EvaluationKeys> keys_;
  std::shared_ptr<const Parameters> parameters_;
  std::unique_ptr<KeyUses> uses_;
  std::optional<HeldKeys> held_;
};

std::size_t num_bytes(const std::vector<Plaintext>& plaintexts) {
  std::size_t total = 0;
  for (const Plaintext& plaintext : plaintexts) total += plaintext.num_bytes();
  return total;
}

}  // namespace

KeyUse next_use(KeyUses& uses) {
  if (std::optional<KeyUse> use = uses.next()) return *std::move(use);
  throw Error(ErrorKind::kValue, "a run uses more keys than were foretold");
}

std::unique_ptr<KeyRun> ResidentKeys::start(std::unique_ptr<KeyUses> uses, Tick) {
  return std::make_unique<ResidentRun>(keys_, parameters_, std::move(uses));
}

/// Who waits for a constant goes on, however the making of it ended.
class PlaintextProvider::Made {
 public:
  Made(PlaintextProvider& provider, const Name& name, std::promise<void>& made)
      : provider_(provider), name_(name), made_(made) {}
  ~Made() {
    const std::lock_guard lock(provider_.mutex_);
    provider_.making_.erase(name_);
    made_.set_value();
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

 private:
  PlaintextProvider& provider_;
  const Name& name_;
  std::promise<void>& made_;
};

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
  std::promise<void> made;
  Vectors rounded;
  {
    std::unique_lock lock(mutex_);
    for (auto other = making_.find(name); other != making_.end() && other->second.process == getpid();
         other = making_.find(name)) {
      const std::shared_future<void> done = other->second.done;
      lock.unlock();
      done.wait();
      lock.lock();
    }
    if (std::vector<Plaintext> found = find(name, rounded); !found.empty()) return found;
    making_.insert_or_assign(name, Making{getpid(), made.get_future().share()});
  }
  const Made ending(*this, name, made);
  const QueueScope scope;  // others will read them too, and a run may be recorded
  if (rounded.empty()) rounded = round(constant, product, type);
  const std::vector<Plaintext> lifted = lift(rounded, type);
  keep(name, std::move(rounded), lifted);
  return lifted;
}

std::vector<Plaintext> PlaintextProvider::find(const Name& name, Vectors& rounded) {
  if (const auto place = entries_.find(name); place != entries_.end()) {
    CachedConstant& entry = place->second;
    if (!entry.lifted.empty()) {
      lifted_.splice(lifted_.begin(), lifted_, entry.recency);
      return entry.lifted;
    }
    rounded = entry.rounded;
  }
  const auto place = held_.find(name);
  return place == held_.end() ? std::vector<Plaintext>() : place->second.all();
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
  note_held(name, lifted);
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

std::vector<Plaintext> PlaintextProvider::HeldConstant::all() const {
  std::vector<Plaintext> found = plaintexts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    found[i].rows = rows[i].lock();
    if (found[i].rows == nullptr) return {};
  }
  return found;
}

void PlaintextProvider::note_held(const Name& name, const std::vector<Plaintext>& lifted) {
  if (held_.size() >= most_held_) {
    std::erase_if(held_, [](const auto& entry) { return entry.second.rows[0].expired(); });
    most_held_ = 2 * held_.size() + 64;
  }
  HeldConstant& held = held_[name] = {lifted, {}};
  for (Plaintext& plaintext : held.plaintexts) {
    held.rows.emplace_back(plaintext.rows);
    plaintext.rows.reset();
  }
}

void PlaintextProvider::drop(CachedConstant& entry) {
  lifted_bytes_ -= num_bytes(entry.lifted);
  entry.lifted.clear();
  lifted_.erase(entry.recency);
}

}  // namespace lw
