// The encoded constants of one run, and those that a recording of it goes on to need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "exec/providers.hpp"

namespace lw {

/// Asks the provider; with `held`, each plaintext is kept there as well, as long as all of them are within the budget
/// of the provider: then `held` is emptied, and `too_many` called once.
class PlanConstants {
 public:
  explicit PlanConstants(PlaintextProvider& provider, std::vector<Plaintext>* held = nullptr,
                         std::function<void()> too_many = {})
      : provider_(provider), held_(held), too_many_(std::move(too_many)) {}

  std::vector<Plaintext> acquire(std::uint32_t constant, const ValueType& type) {
    return kept(provider_.acquire(constant, type));
  }
  Plaintext acquire_product(std::uint32_t constant, std::uint32_t product, const ValueType& type) {
    return kept({provider_.acquire_product(constant, product, type)})[0];
  }
  const PlaintextProvider& provider() const noexcept { return provider_; }

 private:
  std::vector<Plaintext> kept(std::vector<Plaintext> plaintexts) {
    if (held_ == nullptr) return plaintexts;
    for (const Plaintext& plaintext : plaintexts) {
      if (!known_.insert(plaintext.rows.get()).second) continue;
      bytes_ += plaintext.num_bytes();
      held_->push_back(plaintext);
    }
    if (bytes_ > provider_.budget_bytes()) {
      too_many_();
      held_->clear();
      held_ = nullptr;
    }
    return plaintexts;
  }

  PlaintextProvider& provider_;
  std::vector<Plaintext>* held_;
  std::function<void()> too_many_;
  std::unordered_set<const PolyRows*> known_;
  std::size_t bytes_ = 0;
};

}  // namespace lw
