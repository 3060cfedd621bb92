#include "lanes/schedule_moves.hpp"

#include <algorithm>
#include <map>

#include "lanes/rotation_cover.hpp"

namespace lw::lanes {
namespace {

constexpr std::size_t kMostMoved = 4096;  // operations that one move takes along

std::vector<Number> pack_numbers(const ScalarCircuit& circuit, const LaneSchedule& schedule) {
  std::vector<Number> numbers(circuit.nodes.size(), -1);
  for (std::size_t i = 0; i < schedule.packs.size(); ++i) {
    for (const Number node : schedule.packs[i].nodes) numbers[node] = static_cast<Number>(i);
  }
  return numbers;
}

// Give nodes other lanes; what lies there in the same pack takes the lane that becomes free.
bool relocate(LaneSchedule& schedule, const std::vector<Number>& pack_of, const std::vector<Number>& nodes,
              Number steps, Number width) {
  std::map<Number, std::vector<Number>> by_pack;
  for (const Number node : nodes) by_pack[pack_of[node]].push_back(node);
  for (const auto& [pack, moved] : by_pack) {
    std::map<Number, Number> held;  // lane -> node, of those that stay
    for (const Number node : schedule.packs[pack].nodes) held.emplace(schedule.lane[node], node);
    std::vector<Number> free;
    for (const Number node : moved) {
      held.erase(schedule.lane[node]);
      free.push_back(schedule.lane[node]);
    }
    std::vector<Number> displaced;
    for (const Number node : moved) {
      const Number lane = modulo(schedule.lane[node] + steps, width);
      const auto found = held.find(lane);
      if (found != held.end()) displaced.push_back(found->second);
      schedule.lane[node] = lane;
    }
    for (const Number node : displaced) {
      const auto home = std::find_if(free.begin(), free.end(), [&](Number lane) {
        return std::none_of(moved.begin(), moved.end(), [&](Number other) { return schedule.lane[other] == lane; });
      });
      if (home == free.end()) return false;
      schedule.lane[node] = *home;
      free.erase(home);
    }
  }
  return true;
}

}  // namespace

Moves::Moves(const ScalarCircuit& circuit)
    : circuit_(circuit), users_(circuit.nodes.size()), neighbours_(circuit.nodes.size()) {
  const auto has_lane = [&](Number node) {
    const Node& own = circuit.nodes[node];
    return own.code != Code::kInput || circuit.groups[own.group].packing == Packing::kGrouped;
  };
  for (std::size_t i = 0; i < circuit.nodes.size(); ++i) {
    const Node& node = circuit.nodes[i];
    const Number number = static_cast<Number>(i);
    if (node.code == Code::kInput) {
      if (has_lane(number) && circuit.groups[node.group].fixed.empty()) inputs_.push_back(number);
      continue;
    }
    operations_.push_back(number);
    if (is_commutative(node.code)) commutative_.push_back(number);
    for (const bool is_right : {false, true}) {
      if (is_right && !is_binary(node.code)) break;
      const Number operand = is_right ? node.right : node.left;
      users_[operand].push_back(number);
      if (!has_lane(operand)) continue;
      arcs_.push_back({operand, number});
      neighbours_[operand].push_back(number);
      neighbours_[number].push_back(operand);
    }
  }
}

bool Moves::change(LaneSchedule& schedule, Random& random) const {
  const int way = random.below(100);
  if (way < 45) return move_column(schedule, random);
  if (way < 60) return swap_lanes(schedule, random);
  if (way < 78) return move_input(schedule, random);
  if (way < 88) return exchange(schedule, random);
  if (way < 94) return shift_pack(schedule, random);
  return change_pack(schedule, random);
}

// The lane in which a node and one of its neighbours are as far apart as some other two, or not at all.
Number Moves::aligned_lane(const LaneSchedule& schedule, Number node, Random& random) const {
  if (neighbours_[node].empty()) return -1;
  const Number neighbour = neighbours_[node][random.below(neighbours_[node].size())];
  Number span = 0;
  if (random.below(2) == 0) {
    const Arc& arc = arcs_[random.below(arcs_.size())];
    span = schedule.lane[arc.to] - schedule.lane[arc.from];
    if (random.below(4) == 0) span = -span;
  }
  const bool is_operand = circuit_.nodes[node].code != Code::kInput &&
                          (circuit_.nodes[node].left == neighbour ||
                           (is_binary(circuit_.nodes[node].code) && circuit_.nodes[node].right == neighbour));
  return modulo(schedule.lane[neighbour] + (is_operand ? span : -span), circuit_.width);
}

// An operation to another lane, with all that is connected to it within its lane or without.
bool Moves::move_column(LaneSchedule& schedule, Random& random) const {
  if (operations_.empty()) return false;
  const Number node = operations_[random.below(operations_.size())];
  const Number lane = aligned_lane(schedule, node, random);
  if (lane < 0 || lane == schedule.lane[node]) return false;
  std::vector<Number> column = {node};
  const int mode = random.below(3);  // alone; with what follows; with all of its lane
  if (mode > 0) {
    std::vector<unsigned char> seen(circuit_.nodes.size(), 0);
    seen[node] = 1;
    for (std::size_t i = 0; i < column.size() && column.size() < kMostMoved; ++i) {
      for (const Number next : mode == 1 ? users_[column[i]] : neighbours_[column[i]]) {
        if (seen[next] != 0 || circuit_.nodes[next].code == Code::kInput || schedule.lane[next] != schedule.lane[node])
          continue;
        seen[next] = 1;
        column.push_back(next);
      }
    }
  }
  return relocate(schedule, pack_numbers(circuit_, schedule), column, lane - schedule.lane[node], circuit_.width);
}

// Two lanes change places in some of the packs.
bool Moves::swap_lanes(LaneSchedule& schedule, Random& random) const {
  if (operations_.size() < 2) return false;
  const Number a = schedule.lane[operations_[random.below(operations_.size())]];
  const Number b = schedule.lane[operations_[random.below(operations_.size())]];
  if (a == b) return false;
  const std::uint64_t chosen = random.below(2) == 0 ? ~std::uint64_t{0} : random.bits();
  for (std::size_t i = 0; i < schedule.packs.size(); ++i) {
    if (((chosen >> (i % 64)) & 1) == 0) continue;
    for (const Number node : schedule.packs[i].nodes) {
      Number& lane = schedule.lane[node];
      lane = lane == a ? b : lane == b ? a : lane;
    }
  }
  return true;
}

bool Moves::move_input(LaneSchedule& schedule, Random& random) const {
  if (inputs_.empty()) return false;
  const Number input = inputs_[random.below(inputs_.size())];
  const Number lane = aligned_lane(schedule, input, random);
  if (lane < 0 || lane == schedule.lane[input]) return false;
  for (const Number other : inputs_) {
    if (circuit_.nodes[other].group == circuit_.nodes[input].group && schedule.lane[other] == lane) {
      schedule.lane[other] = schedule.lane[input];
    }
  }
  schedule.lane[input] = lane;
  return true;
}

bool Moves::exchange(LaneSchedule& schedule, Random& random) const {
  if (commutative_.empty()) return false;
  schedule.exchanged[commutative_[random.below(commutative_.size())]] ^= 1;
  return true;
}

bool Moves::shift_pack(LaneSchedule& schedule, Random& random) const {
  if (schedule.packs.empty()) return false;
  const Pack& pack = schedule.packs[random.below(schedule.packs.size())];
  const Number node = pack.nodes[random.below(pack.nodes.size())];
  const Number lane = aligned_lane(schedule, node, random);
  if (lane < 0) return false;
  const Number steps = lane - schedule.lane[node];
  if (steps == 0) return false;
  for (const Number other : pack.nodes) schedule.lane[other] = modulo(schedule.lane[other] + steps, circuit_.width);
  return true;
}

// An operation to another pack of its kind, or all of a pack, or an operation to a pack of its own.
bool Moves::change_pack(LaneSchedule& schedule, Random& random) const {
  if (schedule.packs.empty()) return false;
  const std::vector<Number> pack_of = pack_numbers(circuit_, schedule);
  const Number from = random.below(schedule.packs.size());
  const std::vector<Number> all = schedule.packs[from].nodes;
  const bool is_whole = random.below(2) == 0;
  std::vector<Number> moved = is_whole ? all : std::vector<Number>{all[random.below(all.size())]};
  Number earliest = 0, latest = static_cast<Number>(schedule.packs.size()) - 1;
  for (const Number node : moved) {
    const Node& own = circuit_.nodes[node];
    for (const Number operand : {own.left, is_binary(own.code) ? own.right : own.left}) {
      if (pack_of[operand] >= 0) earliest = std::max(earliest, pack_of[operand] + 1);
    }
    for (const Number user : users_[node]) latest = std::min(latest, pack_of[user] - 1);
  }
  if (!is_whole && all.size() > 1 && circuit_.nodes[moved[0]].code != Code::kMul && random.below(4) == 0) {
    std::erase(schedule.packs[from].nodes, moved[0]);
    schedule.packs.insert(schedule.packs.begin() + from + random.below(2), Pack{schedule.packs[from].code, moved});
    return true;
  }
  std::vector<Number> targets;
  for (Number i = earliest; i <= latest; ++i) {
    if (i != from && schedule.packs[i].code == schedule.packs[from].code) targets.push_back(i);
  }
  if (targets.empty()) return false;
  Pack& target = schedule.packs[targets[random.below(targets.size())]];
  for (const Number node : moved) {
    const auto is_taken = [&](Number lane) {
      return std::any_of(target.nodes.begin(), target.nodes.end(),
                         [&](Number other) { return schedule.lane[other] == lane; });
    };
    if (static_cast<Number>(target.nodes.size()) >= circuit_.width) return false;
    while (is_taken(schedule.lane[node])) schedule.lane[node] = modulo(schedule.lane[node] + 1, circuit_.width);
    target.nodes.push_back(node);
    std::erase(schedule.packs[from].nodes, node);
  }
  if (schedule.packs[from].nodes.empty()) schedule.packs.erase(schedule.packs.begin() + from);
  return true;
}

}  // namespace lw::lanes
