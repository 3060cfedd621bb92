#include "exec/plaintexts.hpp"

#include <unistd.h>

#include <algorithm>

#include "math/error.hpp"

namespace lw {
namespace {

std::size_t num_bytes(const std::vector<Plaintext>& plaintexts) {
  std::size_t total = 0;
  for (const Plaintext& plaintext : plaintexts) total += plaintext.num_bytes();
  return total;
}

Hash hash_of(const std::vector<std::int64_t>& values) {
  return blake3({reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(values[0])});
}

}  // namespace

/// Who waits for a constant goes on, however the making of it ends. Begins with the lock, and ends without it.
class PlaintextProvider::Making {
 public:
  Making(PlaintextProvider& provider, const Name& name) : provider_(provider), name_(name) {
    provider_.making_.insert_or_assign(name_, Work{getpid(), made_.get_future().share()});
  }
  ~Making() {
    const std::lock_guard lock(provider_.mutex_);
    provider_.making_.erase(name_);
    made_.set_value();
  }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;

 private:
  PlaintextProvider& provider_;
  const Name& name_;
  std::promise<void> made_;
};

PlaintextProvider::Name PlaintextProvider::name_of(std::uint32_t constant, std::optional<std::uint32_t> product,
                                                   const ValueType& type) {
  return {{constant, product, type.slots, type.count, type.scale},
          type.level.track,
          type.level.index,
          type.basis,
          type.is_addend};
}

std::vector<Plaintext> PlaintextProvider::acquire(std::uint32_t constant, std::optional<std::uint32_t> product,
                                                  const ValueType& type, bool for_sums) {
  if (prepared_ != nullptr) {
    if (std::vector<Plaintext> found = prepared_->find(constant, product, type); !found.empty()) return found;
  }
  const Name name = name_of(constant, product, type);
  std::unique_lock lock(mutex_);
  wait_for_others(lock, name);
  if (std::vector<Plaintext> found = find(name); !found.empty()) return found;
  const Making making(*this, name);
  lock.unlock();
  const QueueScope scope;  // others will read them too
  const Rounded made = round_values(std::get<Values>(name), type);
  if (for_sums && lifts_late_) {
    lock.lock();
    const bool stays = made.is_kept && could_have_room(plaintext_bytes(type), uses_of(name));
    lock.unlock();
    if (!stays) return unlifted(made.coefficients, type);
  }
  std::vector<Plaintext> lifted = lift(made.coefficients, type);
  keep_whole(name, lifted, made.is_kept);
  return lifted;
}

PlaintextProvider::Kept PlaintextProvider::keep(std::uint32_t constant, std::optional<std::uint32_t> product,
                                                const ValueType& type) {
  const Name name = name_of(constant, product, type);
  std::unique_lock lock(mutex_);
  wait_for_others(lock, name);
  if (std::vector<Plaintext> found = find_whole(name); !found.empty()) return {std::move(found), {}};
  const Making making(*this, name);
  lock.unlock();
  const QueueScope scope;  // what is done here is done once, whatever the run calls
  Rounded made = round_values(std::get<Values>(name), type);
  if (!made.is_kept) return {};
  lock.lock();
  const bool is_worth_a_try = could_have_room(plaintext_bytes(type), uses_of(name));
  lock.unlock();
  if (is_worth_a_try) {
    std::vector<Plaintext> lifted = lift(made.coefficients, type);
    if (keep_whole(name, lifted, true)) return {std::move(lifted), {}};
  }
  return {{}, std::move(made.coefficients)};
}

std::vector<Plaintext> PlaintextProvider::lift(const Coefficients& coefficients, const ValueType& type) const {
  std::vector<Plaintext> lifted;
  for (const auto& vector : coefficients) {
    lifted.push_back(scheme_->lift(*vector, type));
    lifted.back().slots = type.slots;
  }
  return lifted;
}

std::vector<Plaintext> PlaintextProvider::unlifted(const Coefficients& coefficients, const ValueType& type) const {
  std::vector<Plaintext> all;
  for (const auto& vector : coefficients) {
    Plaintext& one = all.emplace_back();
    one.level = type.level;
    one.basis = type.basis;
    one.scale = context_->parameters().is_bfv() ? 1.0 : type.scale;
    one.slots = type.slots;
    one.parameters = context_->parameters().fingerprint();
    one.coefficients = vector;
  }
  return all;
}

void PlaintextProvider::foresee(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  foreseen_bytes_ = bytes - std::min(bytes, rounded_bytes_);
}

std::size_t PlaintextProvider::coefficient_bytes(const ValueType& type) const noexcept {
  const std::size_t degree = context_->degree();
  const std::size_t size = context_->parameters().is_bfv() ? degree : std::min<std::size_t>(degree, 2 * type.slots);
  return type.count * Integers::bytes_of(size * sizeof(Word));
}

std::size_t PlaintextProvider::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return prepared_bytes_ + rounded_bytes_ + whole_bytes_;
}

std::size_t PlaintextProvider::cached_coefficient_bytes() const {
  const std::lock_guard lock(mutex_);
  return rounded_bytes_;
}

const WeightMatrix& PlaintextProvider::weights(std::uint32_t constant, MatrixShape shape, double scale) {
  const std::pair name(constant, scale);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = weights_.find(name); known != weights_.end()) return *known->second;
  }
  std::vector<double> numbers;
  for (const std::complex<double> number : source_(constant, std::nullopt)) numbers.push_back(number.real());
  auto made = std::make_unique<const WeightMatrix>(numbers, shape, scale);
  const std::lock_guard lock(mutex_);
  return *weights_.try_emplace(name, std::move(made)).first->second;  // another run may have made it meanwhile
}

void PlaintextProvider::wait_for_others(std::unique_lock<std::mutex>& lock, const Name& name) {
  for (auto other = making_.find(name); other != making_.end() && other->second.process == getpid();
       other = making_.find(name)) {
    const std::shared_future<void> done = other->second.done;
    lock.unlock();
    done.wait();
    lock.lock();
  }
}

std::vector<Plaintext> PlaintextProvider::find(const Name& name) {
  if (std::vector<Plaintext> found = find_whole(name); !found.empty()) return found;
  const auto place = held_.find(name);
  return place == held_.end() ? std::vector<Plaintext>() : place->second.all();
}

std::vector<Plaintext> PlaintextProvider::find_whole(const Name& name) {
  const auto place = whole_.find(name);
  if (place == whole_.end()) return {};
  Whole& found = place->second;
  auto known = by_worth_.extract(found.worth);
  found.worth.second = ++num_uses_;
  known.key() = found.worth;
  by_worth_.insert(std::move(known));
  return found.plaintexts;
}

std::size_t PlaintextProvider::plaintext_bytes(const ValueType& type) const {
  return type.count * context_->limbs(type.level, type.basis).size() * context_->ring().stride() * sizeof(Word);
}

bool PlaintextProvider::has_room(std::size_t bytes) const noexcept {
  return prepared_bytes_ + rounded_bytes_ + foreseen_bytes_ + whole_bytes_ + bytes <= budget_bytes_;
}

bool PlaintextProvider::could_have_room(std::size_t bytes, double uses) const {
  if (uses <= 0) return false;
  const std::size_t needed = prepared_bytes_ + rounded_bytes_ + foreseen_bytes_ + whole_bytes_ + bytes;
  std::size_t free = budget_bytes_;
  for (auto least = by_worth_.begin(); free < needed && least != by_worth_.end() && least->first.first < uses;
       ++least) {
    free += num_bytes(whole_.at(least->second).plaintexts);
  }
  return free >= needed;
}

double PlaintextProvider::uses_of(const Name& name) const noexcept {
  const std::uint32_t constant = std::get<0>(std::get<Values>(name));
  return constant < uses_.size() ? uses_[constant] : 1.0;
}

/// The rounded coefficients of a constant: those that are known, or made anew.
PlaintextProvider::Rounded PlaintextProvider::round_values(const Values& values, const ValueType& type) {
  if (Rounded found = find_rounded(values, type); !found.coefficients.empty()) return found;
  Coefficients made;
  std::vector<Hash> hashes;
  for (const std::vector<std::int64_t>& vector : round(values, type)) {
    hashes.push_back(hash_of(vector));
    {
      const std::lock_guard lock(mutex_);
      const auto same = known_.find(hashes.back());
      made.push_back(same == known_.end() ? nullptr : same->second);
    }
    if (made.back() == nullptr) made.back() = std::make_shared<const Integers>(context_->ring(), vector);
  }
  const bool is_kept = keep_rounded(values, type, hashes, made);
  if (!is_kept && lifts_late_) note_held(values, made);
  return {std::move(made), is_kept};
}

PlaintextProvider::Rounded PlaintextProvider::find_rounded(const Values& values, const ValueType& type) {
  if (prepared_ != nullptr) {
    Coefficients found = prepared_->find_coefficients(std::get<0>(values), std::get<1>(values), type);
    if (!found.empty()) return {std::move(found), true};
  }
  const std::lock_guard lock(mutex_);
  if (const auto kept = rounded_.find(values); kept != rounded_.end()) return {kept->second, true};
  Rounded found{{}, false};
  const auto held = held_rounded_.find(values);
  if (held == held_rounded_.end()) return found;
  for (const auto& vector : held->second) {
    found.coefficients.push_back(vector.lock());
    if (found.coefficients.back() == nullptr) return {{}, false};
  }
  return found;
}

void PlaintextProvider::note_held(const Values& values, const Coefficients& made) {
  const std::lock_guard lock(mutex_);
  if (held_rounded_.size() >= most_held_rounded_) {
    std::erase_if(held_rounded_, [](const auto& entry) { return entry.second[0].expired(); });
    most_held_rounded_ = 2 * held_rounded_.size() + 64;
  }
  held_rounded_[values].assign(made.begin(), made.end());
}

std::vector<std::vector<std::int64_t>> PlaintextProvider::round(const Values& values, const ValueType& type) const {
  const auto& [constant, product, slots, count, scale] = values;
  const std::vector<std::complex<double>> slot_values = source_(constant, product);
  const std::size_t size = slot_values.size(), width = size / count;
  if (width == 0 || size % count != 0 || slots % width != 0) {
    throw Error(ErrorKind::kShape, "constant " + std::to_string(constant) + " has " + std::to_string(size) +
                                       " values, which do not fill " +
                                       (count == 1 ? "" : std::to_string(count) + " x ") + std::to_string(slots) +
                                       " slots");
  }
  std::vector<std::vector<std::int64_t>> rounded;
  for (std::size_t first = 0; first < size; first += width) {
    rounded.push_back(scheme_->round(std::span(slot_values).subspan(first, width), type));
  }
  return rounded;
}

/// Whether there is room for the coefficients of another constant; whole plaintexts make way for them. Equal ones that
/// are there already take the place of those made.
bool PlaintextProvider::keep_rounded(const Values& values, const ValueType& type, const std::vector<Hash>& hashes,
                                     Coefficients& made) {
  const std::lock_guard lock(mutex_);
  std::map<Hash, std::shared_ptr<const Integers>> more;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto same = known_.find(hashes[i]);
    if (same == known_.end()) {
      const auto [place, is_new] = more.try_emplace(hashes[i], made[i]);
      if (is_new) bytes += made[i]->num_bytes();
      made[i] = place->second;
    } else {
      made[i] = same->second;
    }
  }
  if (prepared_bytes_ + rounded_bytes_ + bytes > budget_bytes_) return false;
  if (rounded_.try_emplace(values, made).second) {
    foreseen_bytes_ -= std::min(foreseen_bytes_, coefficient_bytes(type));
    known_.merge(more);
    rounded_bytes_ += bytes;
  }
  while (prepared_bytes_ + rounded_bytes_ + whole_bytes_ > budget_bytes_) drop_least();
  return true;
}

bool PlaintextProvider::keep_whole(const Name& name, const std::vector<Plaintext>& lifted, bool is_kept) {
  const std::lock_guard lock(mutex_);
  note_held(name, lifted);
  const std::size_t bytes = num_bytes(lifted);
  const Worth worth{uses_of(name), ++num_uses_};
  if (!is_kept || whole_.contains(name) || !could_have_room(bytes, worth.first)) return false;
  while (!has_room(bytes)) drop_least();
  by_worth_.emplace(worth, name);
  whole_[name] = {lifted, worth};
  whole_bytes_ += bytes;
  return true;
}

void PlaintextProvider::drop_least() {
  const auto least = whole_.find(by_worth_.begin()->second);
  whole_bytes_ -= num_bytes(least->second.plaintexts);
  by_worth_.erase(by_worth_.begin());
  whole_.erase(least);
}

std::vector<Plaintext> PlaintextProvider::HeldConstant::all() const {
  std::vector<Plaintext> found = plaintexts;
  for (std::size_t i = 0; i < residues.size(); ++i) {
    found[i].residues = residues[i].lock();
    if (found[i].residues == nullptr) return {};
  }
  return found;
}

void PlaintextProvider::note_held(const Name& name, const std::vector<Plaintext>& lifted) {
  if (held_.size() >= most_held_) {
    std::erase_if(held_, [](const auto& entry) { return entry.second.residues[0].expired(); });
    most_held_ = 2 * held_.size() + 64;
  }
  HeldConstant& held = held_[name] = {lifted, {}};
  for (Plaintext& plaintext : held.plaintexts) {
    held.residues.emplace_back(plaintext.residues);
    plaintext.residues.reset();
  }
}

}  // namespace lw
