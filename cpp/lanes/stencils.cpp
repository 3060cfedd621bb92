#include "lanes/stencils.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace lw::lanes {
namespace {

constexpr Number kMostAgain = 64;  // operations that may want the same lane

// What an operand is, up to where it lies: a group of inputs (negative) or a pack; and how far away it lies.
using Likeness = std::pair<Number, Number>;

class Stencil {
 public:
  explicit Stencil(const ScalarCircuit& circuit) : circuit_(circuit), pack_(circuit.nodes.size(), -1) {
    schedule_.lane.assign(circuit.nodes.size(), -1);
    schedule_.exchanged.assign(circuit.nodes.size(), false);
    is_anchor_.assign(circuit.nodes.size(), false);
  }

  LaneSchedule run() {
    place_inputs();
    for (std::size_t i = 0; i < circuit_.nodes.size(); ++i) {
      if (circuit_.nodes[i].code == Code::kInput) continue;
      if (!place(static_cast<Number>(i))) {
        schedule_.packs.clear();
        break;
      }
    }
    if (2 * schedule_.packs.size() > schedule_.lane.size()) schedule_.packs.clear();
    return std::move(schedule_);
  }

 private:
  void place_inputs() {
    std::vector<Number> sizes(circuit_.groups.size(), 0);
    for (const Node& node : circuit_.nodes) {
      if (node.code == Code::kInput && is_packed(node)) ++sizes[node.group];
    }
    const auto largest = std::max_element(sizes.begin(), sizes.end()) - sizes.begin();
    std::vector<std::size_t> next(circuit_.groups.size(), 0);
    for (std::size_t i = 0; i < circuit_.nodes.size(); ++i) {
      const Node& node = circuit_.nodes[i];
      if (node.code != Code::kInput || !is_packed(node)) continue;
      const std::vector<Number>& fixed = circuit_.groups[node.group].fixed;
      const std::size_t position = next[node.group]++;
      schedule_.lane[i] = fixed.empty() ? static_cast<Number>(position) : fixed[position];
      is_anchor_[i] = node.group == largest;
    }
  }

  bool is_packed(const Node& input) const { return circuit_.groups[input.group].packing == Packing::kGrouped; }

  bool place(Number node) {
    const Node& own = circuit_.nodes[node];
    const Number right = is_binary(own.code) ? own.right : own.left;
    const bool is_anchored = is_anchor_[own.left] || is_anchor_[right];
    Number lane = circuit_.width;
    for (const Number operand : {own.left, right}) {
      if (schedule_.lane[operand] < 0 || (is_anchored && !is_anchor_[operand])) continue;
      lane = std::min(lane, schedule_.lane[operand]);
    }
    if (lane == circuit_.width) return false;
    Likeness first = likeness(own.left, lane), second = likeness(right, lane);
    if (is_commutative(own.code) && second < first) {
      std::swap(first, second);
      schedule_.exchanged[node] = true;
    }
    schedule_.lane[node] = lane;
    is_anchor_[node] = is_anchored;
    for (Number again = 0; again < kMostAgain; ++again) {  // those that want the same lane get packs of their own
      const auto [at, is_new] = packs_.try_emplace({own.code, first, second, again}, schedule_.packs.size());
      if (is_new) {
        schedule_.packs.push_back({own.code, {}});
        taken_.emplace_back();
      }
      if (!taken_[at->second].insert(lane).second) continue;
      schedule_.packs[at->second].nodes.push_back(node);
      pack_[node] = static_cast<Number>(at->second);
      return true;
    }
    return false;
  }

  Likeness likeness(Number operand, Number lane) const {
    const Node& node = circuit_.nodes[operand];
    const Number kind = node.code == Code::kInput ? -2 - node.group : pack_[operand];
    return {kind, schedule_.lane[operand] < 0 ? 0 : schedule_.lane[operand] - lane};
  }

  const ScalarCircuit& circuit_;
  LaneSchedule schedule_;
  std::vector<Number> pack_;     // of every operation
  std::vector<bool> is_anchor_;  // whether a node is, or reads, an input of the largest packed group
  std::map<std::tuple<Code, Likeness, Likeness, Number>, std::size_t> packs_;
  std::vector<std::set<Number>> taken_;  // lanes of each pack
};

}  // namespace

LaneSchedule stencil_schedule(const ScalarCircuit& circuit) { return Stencil(circuit).run(); }

}  // namespace lw::lanes
