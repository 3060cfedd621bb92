// Sets of pieces of work that read a word while no order is known between them.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/sim/shadow.hpp"
#include "backend/sim/works.hpp"

namespace lw::sim {

/// A cell names its readers by one number: that of a piece of work, or kSet with that of a set. Sets are made once for
/// all the words that a piece of work finds with the same readers, and forgotten when the host has waited for all in
/// them. Of one device, whose worker alone uses it.
class ReaderSets {
 public:
  /// Begins another piece of work, which does what follows.
  void begin(const Works& works);
  /// Whether the piece of work that began last is among the readers.
  bool holds(std::uint32_t readers, std::uint32_t work) const noexcept {
    return readers == work || readers >= (kSet | fresh_);
  }
  /// The members; none of a set that is forgotten.
  std::span<const std::uint32_t> members(const std::uint32_t& readers) const noexcept;
  /// The number for `work` and those of `readers` that `is_before` does not hold for.
  template <class IsBefore>
  std::uint32_t with(std::uint32_t readers, std::uint32_t work, const IsBefore& is_before) {
    const auto known = made_.find(readers);
    if (known != made_.end()) return known->second;
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t member : members(readers)) {
      if (!is_before(member)) kept.push_back(member);
    }
    kept.push_back(work);
    const std::uint32_t number = kept.size() == 1 ? work : add(std::move(kept));
    made_.emplace(readers, number);
    return number;
  }

 private:
  std::uint32_t add(std::vector<std::uint32_t> members);

  std::deque<std::vector<std::uint32_t>> sets_;
  std::uint32_t first_ = 1;                                // the number of sets_.front()
  std::uint32_t fresh_ = 1;                                // the first number that the present piece of work gave
  std::unordered_map<std::uint32_t, std::uint32_t> made_;  // by the present piece of work
};

}  // namespace lw::sim
