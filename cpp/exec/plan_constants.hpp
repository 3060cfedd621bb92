// The encoded constants of one run, and what a recording of it goes on to need.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_set>
#include <vector>

#include "exec/plaintexts.hpp"

namespace lw {

/// Constants that the calls of a recording read.
struct RecordedConstants {
  std::vector<Plaintext> whole;
  Coefficients coefficients;
};

/// Asks the provider. A run that is recorded reads what stays in memory, within the budget of the provider: plaintexts
/// that are kept whole, and others it lifts itself from coefficients that are kept, so that a replay does so as well.
/// Where one is not kept in either way `recorded` is emptied, and `give_up` called once.
class PlanConstants {
 public:
  explicit PlanConstants(PlaintextProvider& provider, RecordedConstants* recorded = nullptr,
                         std::function<void()> give_up = {})
      : provider_(provider), recorded_(recorded), give_up_(std::move(give_up)) {}

  /// for_sums: as of the provider.
  std::vector<Plaintext> acquire(std::uint32_t constant, const ValueType& type, bool for_sums) {
    return acquire(constant, std::nullopt, type, for_sums);
  }
  /// The plaintext of one product of a block map.
  Plaintext acquire_product(std::uint32_t constant, std::uint32_t product, const ValueType& type, bool for_sums) {
    return acquire(constant, product, type, for_sums)[0];
  }
  /// A matrix of numbers, as integers at a scale.
  const WeightMatrix& weights(std::uint32_t constant, MatrixShape shape, double scale) {
    return provider_.weights(constant, shape, scale);
  }
  const PlaintextProvider& provider() const noexcept { return provider_; }

 private:
  std::vector<Plaintext> acquire(std::uint32_t constant, std::optional<std::uint32_t> product, const ValueType& type,
                                 bool for_sums);
  bool hold(const PlaintextProvider::Kept& kept);

  PlaintextProvider& provider_;
  RecordedConstants* recorded_;
  std::function<void()> give_up_;
  std::unordered_set<const void*> known_;  // what is recorded
  std::size_t whole_bytes_ = 0;            // of it
};

/// Called with a constant, its product where it is a block map, and the type of its plaintexts.
using ConstantVisitor =
    std::function<void(std::uint32_t constant, std::optional<std::uint32_t> product, const ValueType& type)>;
/// Visits all constants that the instructions of a plan name, again each time.
void for_each_constant(const Plan& plan, const PlaintextProvider& provider, const ConstantVisitor& visit);
/// The type of the plaintexts that a block map multiplies ciphertexts of this scale with.
ValueType map_factor(ValueType result, double scale);

/// An upper bound on the bytes of the coefficients of all constants of a plan.
std::size_t all_coefficient_bytes(const Plan& plan, const PlaintextProvider& provider);

}  // namespace lw
