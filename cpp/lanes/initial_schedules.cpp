#include "lanes/initial_schedules.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

#include "lanes/rotation_cover.hpp"

namespace lw::lanes {
namespace {

using Users = std::vector<std::vector<Number>>;

Users users_of(const ScalarCircuit& circuit) {
  Users users(circuit.nodes.size());
  for (std::size_t i = 0; i < circuit.nodes.size(); ++i) {
    const Node& node = circuit.nodes[i];
    if (node.code == Code::kInput) continue;
    users[node.left].push_back(static_cast<Number>(i));
    if (is_binary(node.code)) users[node.right].push_back(static_cast<Number>(i));
  }
  return users;
}

std::vector<Pack> by_level(const ScalarCircuit& circuit, const std::vector<Number>& level) {
  std::map<std::pair<Number, Code>, Pack> packs;
  for (std::size_t i = 0; i < circuit.nodes.size(); ++i) {
    const Node& node = circuit.nodes[i];
    if (node.code == Code::kInput) continue;
    Pack& pack = packs[{level[i], node.code}];
    pack.code = node.code;
    pack.nodes.push_back(static_cast<Number>(i));
  }
  std::vector<Pack> result;
  for (auto& [place, pack] : packs) result.push_back(std::move(pack));
  return result;
}

std::vector<Pack> by_readiness(const ScalarCircuit& circuit) {
  const Users users = users_of(circuit);
  std::vector<Number> missing(circuit.nodes.size(), 0);
  std::array<std::vector<Number>, kNumCodes> ready;
  const auto is_done = [&](Number node) {
    if (--missing[node] == 0) ready[static_cast<int>(circuit.nodes[node].code)].push_back(node);
  };
  for (std::size_t i = 0; i < circuit.nodes.size(); ++i) missing[i] = is_binary(circuit.nodes[i].code) ? 2 : 1;
  for (std::size_t i = 0; i < circuit.nodes.size(); ++i) {
    if (circuit.nodes[i].code != Code::kInput) continue;
    for (const Number user : users[i]) is_done(user);
  }
  constexpr std::array kOrder = {Code::kSub, Code::kNeg,         Code::kAddConstant,
                                 Code::kAdd, Code::kMulConstant, Code::kMul};
  std::vector<Pack> packs;
  for (;;) {
    const auto next =
        std::find_if(kOrder.begin(), kOrder.end(), [&](Code code) { return !ready[static_cast<int>(code)].empty(); });
    if (next == kOrder.end()) return packs;
    std::vector<Number> nodes = std::move(ready[static_cast<int>(*next)]);
    ready[static_cast<int>(*next)].clear();
    std::sort(nodes.begin(), nodes.end());
    for (const Number node : nodes) {
      for (const Number user : users[node]) is_done(user);
    }
    packs.push_back({*next, std::move(nodes)});
  }
}

}  // namespace

std::vector<Pack> packs_of(const ScalarCircuit& circuit, PackOrder order) {
  if (order == PackOrder::kReady) return by_readiness(circuit);
  const std::size_t count = circuit.nodes.size();
  std::vector<Number> level(count, 0);
  if (order == PackOrder::kLevel) {
    for (std::size_t i = 0; i < count; ++i) {
      const Node& node = circuit.nodes[i];
      if (node.code == Code::kInput) continue;
      level[i] = 1 + std::max(level[node.left], is_binary(node.code) ? level[node.right] : 0);
    }
    return by_level(circuit, level);
  }
  for (std::size_t i = count; i-- > 0;) {
    const Node& node = circuit.nodes[i];
    if (node.code == Code::kInput) continue;
    level[node.left] = std::min(level[node.left], level[i] - 1);
    if (is_binary(node.code)) level[node.right] = std::min(level[node.right], level[i] - 1);
  }
  return by_level(circuit, level);
}

namespace {

class LaneWalk {
 public:
  LaneWalk(const ScalarCircuit& circuit, LaneSchedule& schedule, bool is_right)
      : circuit_(circuit),
        schedule_(schedule),
        is_right_(is_right),
        pack_(circuit.nodes.size(), -1),
        taken_(schedule.packs.size()) {
    for (std::size_t i = 0; i < schedule.packs.size(); ++i) {
      for (const Number node : schedule.packs[i].nodes) pack_[node] = static_cast<Number>(i);
    }
  }

  // Leaves of an output that no output before it has.
  Number count_leaves(Number output) {
    Number leaves = 0;
    walk(output, [&](Number) { ++leaves; }, counted_);
    return leaves;
  }

  // Where lanes run on beyond the width, the operations there are packs of their own.
  void wrap() {
    std::vector<Pack> packs;
    for (const Pack& pack : schedule_.packs) {
      std::map<Number, Pack> waves;
      for (const Number node : pack.nodes) {
        Pack& wave = waves[schedule_.lane[node] / circuit_.width];
        wave.code = pack.code;
        wave.nodes.push_back(node);
      }
      for (auto& [number, wave] : waves) packs.push_back(std::move(wave));
    }
    schedule_.packs = std::move(packs);
    for (Number& lane : schedule_.lane) lane = lane < 0 ? lane : lane % circuit_.width;
  }

  template <class LaneOfLeaf>
  void place(Number output, LaneOfLeaf lane_of_leaf) {
    Number position = 0;
    walk(output, [&](Number node) { put(node, lane_of_leaf(position++)); }, placed_);
  }

 private:
  bool is_leaf(Number node) const {
    const Node& own = circuit_.nodes[node];
    return !is_operation(circuit_, own.left) && !(is_binary(own.code) && is_operation(circuit_, own.right));
  }

  // Depth first without recursion, since circuits may be chains of a million operations.
  template <class OnLeaf>
  void walk(Number output, OnLeaf on_leaf, std::vector<unsigned char>& seen) {
    seen.resize(circuit_.nodes.size(), 0);
    std::vector<std::pair<Number, bool>> stack = {{output, false}};
    while (!stack.empty()) {
      const auto [node, is_entered] = stack.back();
      stack.pop_back();
      if (!is_operation(circuit_, node) || (seen[node] != 0 && !is_entered)) continue;
      const Node& own = circuit_.nodes[node];
      if (is_entered) {
        if (&seen == &placed_) put(node, inherit_lane(own));
        continue;
      }
      seen[node] = 1;
      if (is_leaf(node)) {
        on_leaf(node);
        continue;
      }
      stack.push_back({node, true});
      if (is_binary(own.code)) stack.push_back({own.right, false});
      stack.push_back({own.left, false});
    }
  }

  Number inherit_lane(const Node& node) const {
    const bool has_left = is_operation(circuit_, node.left);
    const bool has_right = is_binary(node.code) && is_operation(circuit_, node.right);
    const Number operand = has_right && (is_right_ || !has_left) ? node.right : node.left;
    return schedule_.lane[operand];
  }

  void put(Number node, Number lane) {
    std::set<Number>& taken = taken_[pack_[node]];
    while (!taken.insert(lane).second) ++lane;
    schedule_.lane[node] = lane;
  }

  const ScalarCircuit& circuit_;
  LaneSchedule& schedule_;
  bool is_right_;
  std::vector<Number> pack_;
  std::vector<std::set<Number>> taken_;  // lanes of each pack
  std::vector<unsigned char> counted_, placed_;
};

}  // namespace

void assign_lanes(const ScalarCircuit& circuit, LaneSchedule& schedule, LaneOrder order, bool is_right) {
  schedule.lane.assign(circuit.nodes.size(), -1);
  schedule.exchanged.assign(circuit.nodes.size(), 0);
  LaneWalk walk(circuit, schedule, is_right);
  std::vector<Number> leaves;
  Number most = 1;
  for (const Number output : circuit.outputs) {
    leaves.push_back(walk.count_leaves(output));
    most = std::max(most, leaves.back());
  }
  const Number count = static_cast<Number>(circuit.outputs.size());
  const Number padded = static_cast<Number>(std::bit_ceil(static_cast<std::uint32_t>(most)));
  Number first = 0;
  for (Number i = 0; i < count; ++i) {
    walk.place(circuit.outputs[i], [&](Number position) {
      return order == LaneOrder::kPositions ? position * count + i : first + position;
    });
    first += order == LaneOrder::kPadded ? padded : leaves[i];
  }
  walk.wrap();
}

namespace {

constexpr std::size_t kMostSteps = 48;  // rotations of a vector that a further input may be brought to its uses by

std::vector<Number> most_frequent(const std::map<Number, int>& steps) {
  std::vector<std::pair<int, Number>> counted;
  for (const auto& [own, uses] : steps) counted.emplace_back(-uses, own);
  if (counted.size() > kMostSteps) {
    std::nth_element(counted.begin(), counted.begin() + kMostSteps, counted.end());
    counted.resize(kMostSteps);
  }
  std::vector<Number> found;
  for (const auto& [uses, own] : counted) found.push_back(own);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

void place_inputs(const ScalarCircuit& circuit, LaneSchedule& schedule) {
  const Users users = users_of(circuit);
  std::vector<std::vector<Number>> inputs(circuit.groups.size());
  for (std::size_t i = 0; i < circuit.nodes.size(); ++i) {
    if (circuit.nodes[i].code == Code::kInput) inputs[circuit.nodes[i].group].push_back(static_cast<Number>(i));
  }
  for (std::size_t group = 0; group < inputs.size(); ++group) {
    if (circuit.groups[group].packing != Packing::kGrouped) continue;
    const std::vector<Number>& fixed = circuit.groups[group].fixed;
    if (!fixed.empty()) {
      for (std::size_t i = 0; i < fixed.size(); ++i) schedule.lane[inputs[group][i]] = fixed[i];
      continue;
    }
    for (const Number input : inputs[group]) schedule.lane[input] = -1;
    std::map<Number, int> steps;    // how many uses each rotation of this vector serves
    std::map<Number, Number> held;  // lane -> input
    const auto count = [&](Number input, int sign) {
      for (const Number user : users[input]) {
        const Number own = modulo(schedule.lane[input] - schedule.lane[user], circuit.width);
        if ((steps[own] += sign) == 0) steps.erase(own);
      }
    };
    for (int pass = 0; pass < 3; ++pass) {
      for (const Number input : inputs[group]) {
        if (schedule.lane[input] >= 0) {
          count(input, -1);
          held.erase(schedule.lane[input]);
        }
        Number best = -1;
        std::size_t fewest = 0;
        const auto look_at = [&](Number lane) {
          if (held.contains(lane)) return;
          std::set<Number> added;
          for (const Number user : users[input]) {
            const Number own = modulo(lane - schedule.lane[user], circuit.width);
            if (own != 0 && !steps.contains(own)) added.insert(own);
          }
          if (best < 0 || added.size() < fewest) {
            best = lane;
            fewest = added.size();
          }
        };
        const std::vector<Number> frequent = most_frequent(steps);
        for (const Number user : users[input]) {
          look_at(schedule.lane[user]);
          if (fewest == 0 && best >= 0) break;
          for (const Number own : frequent) look_at(modulo(schedule.lane[user] + own, circuit.width));
        }
        for (Number lane = 0; best < 0; ++lane) look_at(lane);
        schedule.lane[input] = best;
        held.emplace(best, input);
        count(input, 1);
      }
    }
  }
}

LaneSchedule scalar_schedule(const ScalarCircuit& circuit) {
  LaneSchedule schedule;
  schedule.lane.assign(circuit.nodes.size(), -1);
  schedule.exchanged.assign(circuit.nodes.size(), 0);
  for (std::size_t i = 0; i < circuit.nodes.size(); ++i) {
    const Node& node = circuit.nodes[i];
    if (node.code == Code::kInput) continue;
    schedule.packs.push_back({node.code, {static_cast<Number>(i)}});
    schedule.lane[i] = 0;
  }
  place_inputs(circuit, schedule);
  return schedule;
}

}  // namespace lw::lanes
