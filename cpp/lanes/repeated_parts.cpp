#include "lanes/repeated_parts.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "lanes/rotation_cover.hpp"

namespace lw::lanes {
namespace {

// Union-find over operations.
class Components {
 public:
  explicit Components(std::size_t count) : parent_(count) {
    for (std::size_t i = 0; i < count; ++i) parent_[i] = static_cast<Number>(i);
  }
  Number find(Number node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  void join(Number a, Number b) { parent_[find(a)] = find(b); }

 private:
  std::vector<Number> parent_;
};

// The operations that some outputs need, operands first, and what they do in a form that does not name nodes.
struct Traversal {
  std::vector<Number> operations, signature;
};

Traversal traverse(const ScalarCircuit& circuit, const std::vector<Number>& outputs) {
  Traversal made;
  std::map<Number, Number> operations, inputs;  // node -> place in the order
  const auto reference = [&](Number node) {
    if (is_operation(circuit, node)) return 2 * operations.at(node);
    const auto place = inputs.emplace(node, static_cast<Number>(inputs.size())).first->second;
    return 2 * place + 1;
  };
  for (const Number output : outputs) {
    std::vector<std::pair<Number, bool>> stack = {{output, false}};
    while (!stack.empty()) {
      const auto [node, is_entered] = stack.back();
      stack.pop_back();
      if (!is_operation(circuit, node) || operations.contains(node)) continue;
      const Node& own = circuit.nodes[node];
      if (!is_entered) {
        stack.push_back({node, true});
        if (is_binary(own.code)) stack.push_back({own.right, false});
        stack.push_back({own.left, false});
        continue;
      }
      made.signature.push_back(static_cast<Number>(own.code));
      for (const bool is_right : {false, true}) {
        if (is_right && !is_binary(own.code)) {
          made.signature.push_back(own.right);
          continue;
        }
        const Number operand = is_right ? own.right : own.left;
        made.signature.push_back(reference(operand));
        if (!is_operation(circuit, operand)) {
          made.signature.push_back(static_cast<Number>(circuit.groups[circuit.nodes[operand].group].packing));
        }
      }
      operations.emplace(node, static_cast<Number>(made.operations.size()));
      made.operations.push_back(node);
    }
    made.signature.push_back(-2);
    made.signature.push_back(is_operation(circuit, output) ? operations.at(output) : -1);
  }
  return made;
}

}  // namespace

std::vector<RepeatedPart> find_repeated_parts(const ScalarCircuit& circuit) {
  Components components(circuit.nodes.size());
  for (std::size_t i = 0; i < circuit.nodes.size(); ++i) {
    const Node& node = circuit.nodes[i];
    if (node.code == Code::kInput) continue;
    if (is_operation(circuit, node.left)) components.join(static_cast<Number>(i), node.left);
    if (is_binary(node.code) && is_operation(circuit, node.right)) components.join(static_cast<Number>(i), node.right);
  }
  std::map<Number, std::size_t> number;  // of the component with this root
  std::vector<std::vector<Number>> outputs;
  for (const Number output : circuit.outputs) {
    if (!is_operation(circuit, output)) continue;
    const auto [found, is_new] = number.emplace(components.find(output), outputs.size());
    if (is_new) outputs.emplace_back();
    outputs[found->second].push_back(output);
  }
  std::map<std::vector<Number>, std::size_t> known;
  std::vector<RepeatedPart> repeated;
  for (const std::vector<Number>& own : outputs) {
    Traversal made = traverse(circuit, own);
    const auto [found, is_new] = known.emplace(std::move(made.signature), repeated.size());
    if (is_new) repeated.emplace_back();
    repeated[found->second].instances.push_back(std::move(made.operations));
  }
  return repeated;
}

CircuitPart part_of(const ScalarCircuit& circuit, const std::vector<Number>& operations) {
  CircuitPart made;
  made.circuit.groups = circuit.groups;
  made.circuit.width = circuit.width;
  for (Group& group : made.circuit.groups) group.fixed.clear();  // lanes of the whole circuit, not of this part
  std::map<Number, Number> number;
  const auto add = [&](Number node) {
    number.emplace(node, static_cast<Number>(made.nodes.size()));
    made.nodes.push_back(node);
  };
  for (const Number node : operations) {
    const Node& own = circuit.nodes[node];
    for (const Number operand : {own.left, is_binary(own.code) ? own.right : own.left}) {
      if (!is_operation(circuit, operand) && !number.contains(operand)) add(operand);
    }
  }
  for (const Number node : operations) add(node);
  for (const Number node : made.nodes) {
    Node own = circuit.nodes[node];
    if (own.code != Code::kInput) own.left = number.at(own.left);
    if (is_binary(own.code)) own.right = number.at(own.right);
    made.circuit.nodes.push_back(own);
  }
  for (const Number output : circuit.outputs) {
    if (number.contains(output) && is_operation(circuit, output)) made.circuit.outputs.push_back(number.at(output));
  }
  return made;
}

namespace {

// Two sequences that do not depend on each other as one, with packs of one kind joined for the greatest saving.
std::vector<Pack> join_packs(const std::vector<Pack>& a, const std::vector<Pack>& b,
                             const InstructionWeights& weights) {
  std::vector<std::vector<double>> saved(a.size() + 1, std::vector<double>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      saved[i][j] = std::max(saved[i + 1][j], saved[i][j + 1]);
      if (a[i].code == b[j].code) saved[i][j] = std::max(saved[i][j], saved[i + 1][j + 1] + weights.of(a[i].code));
    }
  }
  std::vector<Pack> result;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i].code == b[j].code &&
        saved[i][j] == saved[i + 1][j + 1] + weights.of(a[i].code)) {
      result.push_back(a[i++]);
      const std::vector<Number>& more = b[j++].nodes;
      result.back().nodes.insert(result.back().nodes.end(), more.begin(), more.end());
    } else if (j == b.size() || (i < a.size() && saved[i][j] == saved[i + 1][j])) {
      result.push_back(a[i++]);
    } else {
      result.push_back(b[j++]);
    }
  }
  return result;
}

}  // namespace

LaneSchedule tile_schedules(const ScalarCircuit& circuit, const std::vector<RepeatedPart>& repeated,
                            const std::vector<LaneSchedule>& schedules, Tiling tiling,
                            const InstructionWeights& weights) {
  LaneSchedule whole;
  whole.lane.assign(circuit.nodes.size(), -1);
  whole.exchanged.assign(circuit.nodes.size(), 0);
  Number first = 0;
  for (std::size_t k = 0; k < repeated.size(); ++k) {
    const std::vector<std::vector<Number>>& instances = repeated[k].instances;
    const std::vector<Number>& model = instances[0];
    const LaneSchedule& own = schedules[k];
    const Number num_inputs = static_cast<Number>(own.lane.size() - model.size());
    Number lowest = circuit.width, highest = 0;
    for (std::size_t i = 0; i < model.size(); ++i) {
      lowest = std::min(lowest, own.lane[num_inputs + static_cast<Number>(i)]);
      highest = std::max(highest, own.lane[num_inputs + static_cast<Number>(i)]);
    }
    const Number count = static_cast<Number>(instances.size());
    Number stride = highest - lowest + 1;
    if (tiling == Tiling::kPadded) stride = static_cast<Number>(std::bit_ceil(static_cast<std::uint32_t>(stride)));
    if (static_cast<std::int64_t>(first) + static_cast<std::int64_t>(stride) * count > circuit.width) return {};
    const auto lane_of = [&](Number lane, Number instance) {
      return tiling == Tiling::kInterleaved ? first + (lane - lowest) * count + instance
                                            : first + (lane - lowest) + instance * stride;
    };
    std::vector<Pack> packs;
    for (const Pack& pack : own.packs) {
      Pack made{pack.code, {}};
      for (Number instance = 0; instance < count; ++instance) {
        for (const Number node : pack.nodes) {
          const Number target = instances[instance][node - num_inputs];
          made.nodes.push_back(target);
          whole.lane[target] = lane_of(own.lane[node], instance);
          whole.exchanged[target] = own.exchanged[node];
        }
      }
      packs.push_back(std::move(made));
    }
    whole.packs = join_packs(whole.packs, packs, weights);
    first += stride * count;
  }
  return whole;
}

}  // namespace lw::lanes
