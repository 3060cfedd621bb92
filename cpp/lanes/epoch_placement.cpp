#include "lanes/epoch_placement.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lw::lanes {

Placement::Placement(const Epochs& epochs, Number width, std::vector<Number> lane)
    : epochs_(&epochs),
      // Distances of either sign are different numbers modulo this, unless they are equal modulo the width.
      span_(std::min(std::bit_ceil(2 * static_cast<std::uint32_t>(epochs.num_columns)),
                     static_cast<std::uint32_t>(width))),
      lane_(std::move(lane)),
      cells_(epochs.members.size() * epochs.num_columns, -1),
      neighbours_(2 * epochs.arcs.size()),
      first_(lane_.size() + 1),
      uses_(epochs.members.size() * span_) {
  for (std::size_t place = 0; place < lane_.size(); ++place) {
    cells_[epochs.epoch[place] * epochs.num_columns + lane_[place]] = static_cast<Number>(place);
  }
  for (const auto& [source, target] : epochs.arcs) {
    ++first_[source + 1];
    ++first_[target + 1];
  }
  for (std::size_t place = 0; place < lane_.size(); ++place) first_[place + 1] += first_[place];
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (const auto& [source, target] : epochs.arcs) {
    neighbours_[next[source]++] = {target, false};
    neighbours_[next[target]++] = {source, true};
    if (lane_[source] != lane_[target] && uses_[slot(source, target)]++ == 0) ++rotations_;
  }
}

void Placement::count(Number place, Number change) {
  looked_at_ += first_[place + 1] - first_[place];
  for (std::size_t i = first_[place]; i < first_[place + 1]; ++i) {
    const auto [other, is_read] = neighbours_[i];
    if (lane_[other] == lane_[place]) continue;
    Number& uses = uses_[is_read ? slot(other, place) : slot(place, other)];
    if (change > 0) {
      rotations_ += uses++ == 0;
    } else {
      rotations_ -= --uses == 0;
    }
  }
}

void Placement::move(Number place, Number lane) {
  count(place, -1);
  lane_[place] = lane;
  count(place, 1);
}

void Placement::exchange(Number a, Number b, const std::vector<std::uint64_t>& chosen) {
  const std::size_t columns = epochs_->num_columns;
  for (std::size_t word = 0; word < chosen.size(); ++word) {
    for (std::uint64_t bits = chosen[word]; bits != 0; bits &= bits - 1) {
      const std::size_t epoch = 64 * word + std::countr_zero(bits);
      Number& in_a = cells_[epoch * columns + a];
      Number& in_b = cells_[epoch * columns + b];
      if (in_a >= 0) move(in_a, b);
      if (in_b >= 0) move(in_b, a);
      std::swap(in_a, in_b);
    }
  }
}

std::vector<Number> enumerate_lanes(const Epochs& epochs) {
  std::vector<Number> lane(epochs.epoch.size());
  for (const auto& members : epochs.members) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const bool is_fixed = members[i] < epochs.num_gates() && epochs.gates[members[i]].lane >= 0;
      lane[members[i]] = is_fixed ? epochs.gates[members[i]].lane : static_cast<Number>(i);
    }
  }
  return lane;
}

std::vector<Number> anneal_lanes(Placement& placement, const Epochs& epochs, const Cooling& cooling, Random& random,
                                 Number* rotations) {
  std::vector<Number> best = placement.lanes();
  Number fewest = placement.num_rotations();
  const std::size_t num_epochs = epochs.members.size();
  const auto columns = static_cast<std::uint32_t>(epochs.num_columns);
  std::vector<std::uint64_t> movable((num_epochs + 63) / 64), chosen(movable.size());
  for (std::size_t epoch = 0; epoch < num_epochs; ++epoch) {
    if (!epochs.is_fixed[epoch]) movable[epoch / 64] |= std::uint64_t{1} << (epoch % 64);
  }
  double temperature = cooling.temperature;
  for (int i = 0; i < cooling.moves && columns > 1 && fewest > 0; ++i) {
    const std::uint32_t a = random.below(columns), distance = 1 + random.below(columns - 1);
    const auto b = static_cast<Number>((a + distance) % columns);
    for (std::size_t word = 0; word < chosen.size(); ++word) chosen[word] = random.bits() & movable[word];
    const Number before = placement.num_rotations();
    placement.exchange(static_cast<Number>(a), b, chosen);
    const Number worse = placement.num_rotations() - before;
    if (worse > 0 && random.unit() >= std::exp(-worse / temperature)) {
      placement.exchange(static_cast<Number>(a), b, chosen);
    } else if (placement.num_rotations() < fewest) {
      fewest = placement.num_rotations();
      best = placement.lanes();
    }
    temperature /= 1 + cooling.rate * temperature;
  }
  *rotations = fewest;
  return best;
}

}  // namespace lw::lanes
