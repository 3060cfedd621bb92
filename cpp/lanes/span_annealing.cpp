#include "lanes/span_annealing.hpp"

#include <cmath>

#include "lanes/rotation_cover.hpp"

namespace lw::lanes {
namespace {

std::uint64_t pair_key(std::uint64_t a, std::uint64_t b) { return (a << 32) | b; }

// Operands are few, so that three numbers fit one key.
std::uint64_t triple_key(std::uint64_t operand, std::uint64_t source, std::uint64_t span) {
  return (operand << 42) ^ (source << 21) ^ span;
}

}  // namespace

SpanAnnealing::SpanAnnealing(const ScalarCircuit& circuit, const LaneSchedule& schedule,
                             const InstructionWeights& weights)
    : circuit_(circuit),
      schedule_(schedule),
      weights_(weights),
      read_(weights.add + 0.5 * weights.mul_constant),
      source_(circuit.nodes.size(), -1),
      arcs_of_(circuit.nodes.size()),
      held_(schedule.packs.size() + circuit.groups.size()) {
  for (std::size_t i = 0; i < schedule.packs.size(); ++i) {
    for (const Number node : schedule.packs[i].nodes) source_[node] = static_cast<Number>(i);
  }
  for (std::size_t i = 0; i < circuit.nodes.size(); ++i) {
    const Node& node = circuit.nodes[i];
    const Number number = static_cast<Number>(i);
    if (node.code == Code::kInput) {
      const Group& group = circuit.groups[node.group];
      if (group.packing != Packing::kGrouped || schedule.lane[number] < 0) continue;
      source_[number] = static_cast<Number>(schedule.packs.size()) + node.group;
      if (group.fixed.empty()) movable_.push_back(number);
    } else if (source_[number] >= 0) {
      movable_.push_back(number);
      if (is_commutative(node.code)) commutative_.push_back(number);
    }
    if (source_[number] >= 0) held_[source_[number]].emplace(schedule.lane[number], number);
  }
  for (std::size_t i = 0; i < circuit.nodes.size(); ++i) {
    const Node& node = circuit.nodes[i];
    const Number number = static_cast<Number>(i);
    if (node.code == Code::kInput || source_[number] < 0) continue;
    for (const bool is_right : {false, true}) {
      if (is_right && !is_binary(node.code)) break;
      const Number operand = is_right ? node.right : node.left;
      if (source_[operand] < 0) continue;
      arcs_of_[operand].push_back(static_cast<Number>(arcs_.size()));
      if (operand != number) arcs_of_[number].push_back(static_cast<Number>(arcs_.size()));
      arcs_.push_back({operand, number, is_right});
    }
  }
  for (const OperandArc& arc : arcs_) count(arc, 1);
}

Number SpanAnnealing::span(const OperandArc& arc) const {
  return modulo(schedule_.lane[arc.from] - schedule_.lane[arc.to], circuit_.width);
}

std::uint64_t SpanAnnealing::side(const OperandArc& arc) const {
  const bool is_right = arc.is_right != (schedule_.exchanged[arc.to] != 0 && is_binary(circuit_.nodes[arc.to].code));
  return 2 * static_cast<std::uint64_t>(source_[arc.to]) + is_right;
}

void SpanAnnealing::count(const OperandArc& arc, int sign) {
  const std::uint64_t own = static_cast<std::uint64_t>(span(arc)),
                      source = static_cast<std::uint64_t>(source_[arc.from]);
  const auto tally = [&](Counter& counter, std::uint64_t key, double price) {
    int& uses = counter[key];
    uses += sign;
    if (sign > 0 && uses == 1) cost_ += price;
    if (uses == 0) {
      counter.erase(key);
      cost_ -= price;
    }
  };
  if (own != 0) tally(rotations_, pair_key(source, own), weights_.rotate);
  tally(reads_, triple_key(side(arc), source, own), read_);
}

double SpanAnnealing::recount() const {
  Counter rotations, reads;
  for (const OperandArc& arc : arcs_) {
    const std::uint64_t own = static_cast<std::uint64_t>(span(arc)),
                        source = static_cast<std::uint64_t>(source_[arc.from]);
    if (own != 0) ++rotations[pair_key(source, own)];
    ++reads[triple_key(side(arc), source, own)];
  }
  return static_cast<double>(rotations.size()) * weights_.rotate + static_cast<double>(reads.size()) * read_;
}

// Nodes and the lanes they would move to: one beside a neighbour, at a span that occurs already or none; what lies
// there in the same vector takes its place.
bool SpanAnnealing::propose(Random& random, std::vector<std::pair<Number, Number>>& moved) const {
  const Number node = movable_[random.below(movable_.size())];
  if (arcs_of_[node].empty()) return false;
  const OperandArc& arc = arcs_[arcs_of_[node][random.below(arcs_of_[node].size())]];
  Number steps = 0;
  if (random.below(2) == 0) steps = span(arcs_[random.below(arcs_.size())]);
  const Number lane = arc.from == node ? modulo(schedule_.lane[arc.to] + steps, circuit_.width)
                                       : modulo(schedule_.lane[arc.from] - steps, circuit_.width);
  if (lane == schedule_.lane[node]) return false;
  const auto found = held_[source_[node]].find(lane);
  moved = {{node, lane}};
  if (found != held_[source_[node]].end()) moved.emplace_back(found->second, schedule_.lane[node]);
  return true;
}

void SpanAnnealing::put(Number node, Number lane) {
  schedule_.lane[node] = lane;
  held_[source_[node]][lane] = node;
}

std::size_t SpanAnnealing::step(Random& random, double temperature) {
  if (movable_.empty() || arcs_.empty()) return 1;
  const double before = cost_;
  std::size_t looked = 1;
  const auto is_kept = [&] { return cost_ <= before || random.unit() < std::exp((before - cost_) / temperature); };
  if (!commutative_.empty() && random.below(8) == 0) {
    const Number node = commutative_[random.below(commutative_.size())];
    const auto toggle = [&] {
      for (const Number arc : arcs_of_[node]) count(arcs_[arc], -1);
      schedule_.exchanged[node] ^= 1;
      for (const Number arc : arcs_of_[node]) count(arcs_[arc], 1);
      looked += 2 * arcs_of_[node].size();
    };
    toggle();
    if (!is_kept()) toggle();
    return looked;
  }
  std::vector<std::pair<Number, Number>> moved;
  if (!propose(random, moved)) return looked;
  const auto count_all = [&](int sign) {
    for (std::size_t i = 0; i < moved.size(); ++i) {
      for (const Number arc : arcs_of_[moved[i].first]) {
        // The two that change places lie in one vector, so no arc joins them.
        count(arcs_[arc], sign);
      }
      looked += arcs_of_[moved[i].first].size();
    }
  };
  const auto apply = [&](const std::vector<std::pair<Number, Number>>& places) {
    count_all(-1);
    for (const auto& [node, lane] : places) held_[source_[node]].erase(schedule_.lane[node]);
    for (const auto& [node, lane] : places) put(node, lane);
    count_all(1);
  };
  std::vector<std::pair<Number, Number>> back;
  for (const auto& [node, lane] : moved) back.emplace_back(node, schedule_.lane[node]);
  apply(moved);
  if (!is_kept()) apply(back);
  return looked;
}

}  // namespace lw::lanes
