#include "backend/sim/reader_sets.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lw::sim {

void ReaderSets::begin(const Works& works) {
  const auto is_forgotten = [&](std::uint32_t member) { return !works.find(member); };
  while (!sets_.empty() && std::all_of(sets_.front().begin(), sets_.front().end(), is_forgotten)) {
    sets_.pop_front();
    ++first_;
  }
  fresh_ = first_ + static_cast<std::uint32_t>(sets_.size());
  made_.clear();
}

std::span<const std::uint32_t> ReaderSets::members(const std::uint32_t& readers) const noexcept {
  if (readers == 0) return {};
  if ((readers & kSet) == 0) return {&readers, 1};
  const std::uint32_t number = readers & ~kSet;
  if (number < first_) return {};
  return sets_[number - first_];
}

std::uint32_t ReaderSets::add(std::vector<std::uint32_t> members) {
  const std::uint32_t number = first_ + static_cast<std::uint32_t>(sets_.size());
  if (number >= kSet) throw std::length_error("more sets of readers than the simulator can number");
  sets_.push_back(std::move(members));
  return kSet | number;
}

}  // namespace lw::sim
