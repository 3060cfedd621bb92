#include "lanes/epochs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "math/error.hpp"

namespace lw::lanes {
namespace {

/// (vertex, input) pairs in which a vertex reads an input, in the order of the operations; each once.
std::vector<std::pair<Number, Number>> uses_of_inputs(const ScalarCircuit& circuit, const Quotient& quotient) {
  std::vector<std::pair<Number, Number>> uses;
  for (std::size_t node = 0; node < circuit.nodes.size(); ++node) {
    if (quotient.vertex[node] < 0) continue;
    const auto [left, right] = operands(circuit.nodes[node]);
    for (const Number operand : {left, right}) {
      if (operand >= 0 && quotient.vertex[operand] < 0) uses.push_back({quotient.vertex[node], operand});
    }
  }
  std::map<std::pair<Number, Number>, bool> seen;
  std::erase_if(uses, [&](const auto& use) { return !seen.insert({use, true}).second; });
  return uses;
}

class EpochBuilder {
 public:
  EpochBuilder(const ScalarCircuit& circuit, const Quotient& quotient) : circuit_(circuit), quotient_(quotient) {}

  Epochs build(const InstructionWeights& weights) {
    add_gates();
    add_vertices();
    find_columns();
    find_height(weights);
    return std::move(out_);
  }

 private:
  Number new_epoch(bool is_fixed) {
    out_.members.emplace_back();
    out_.is_fixed.push_back(is_fixed);
    return static_cast<Number>(out_.members.size()) - 1;
  }

  void put(Number place, Number epoch) {
    out_.epoch.push_back(epoch);
    out_.members[epoch].push_back(place);
  }

  Number add_gate(Number input, Number lane, Number epoch) {
    const Number place = out_.num_gates();
    out_.gates.push_back({input, lane});
    put(place, epoch);
    return place;
  }

  void add_gates() {
    std::vector<std::vector<Number>> inputs(circuit_.groups.size());
    for (std::size_t node = 0; node < circuit_.nodes.size(); ++node) {
      if (circuit_.nodes[node].code == Code::kInput)
        inputs[circuit_.nodes[node].group].push_back(static_cast<Number>(node));
    }
    std::vector<std::vector<std::pair<Number, Number>>> uses(circuit_.groups.size());
    for (const auto& use : uses_of_inputs(circuit_, quotient_)) uses[circuit_.nodes[use.second].group].push_back(use);
    for (std::size_t group = 0; group < circuit_.groups.size(); ++group) {
      const Group& properties = circuit_.groups[group];
      if (inputs[group].empty()) continue;
      if (!properties.fixed.empty()) {
        add_fixed_gates(inputs[group], properties.fixed);
      } else if (properties.packing == Packing::kReplicated && std::ssize(uses[group]) <= circuit_.width) {
        add_copies(uses[group]);
        continue;
      } else if (properties.packing != Packing::kFree) {
        add_single_gates(inputs[group], static_cast<Number>(group));
      } else {
        continue;
      }
      for (const auto& [vertex, input] : uses[group]) vertex_arcs_.push_back({gate_of_[input], vertex});
    }
  }

  /// Adds the inputs of a group with fixed lanes. In a free group two inputs may have the same lane: they lie in
  /// different vectors, which are epochs of their own.
  void add_fixed_gates(const std::vector<Number>& inputs, const std::vector<Number>& lanes) {
    std::map<Number, Number> layer_of_lane;
    const Number first = static_cast<Number>(out_.members.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Number epoch = first + layer_of_lane[lanes[i]]++;
      if (epoch == std::ssize(out_.members)) new_epoch(true);
      gate_of_[inputs[i]] = add_gate(inputs[i], lanes[i], epoch);
    }
  }

  void add_single_gates(const std::vector<Number>& inputs, Number group) {
    if (std::ssize(inputs) > circuit_.width) {
      throw Error(ErrorKind::kValue, "input group " + std::to_string(group) + " has " + std::to_string(inputs.size()) +
                                         " elements for " + std::to_string(circuit_.width) + " lanes");
    }
    const Number epoch = new_epoch(false);
    for (const Number input : inputs) gate_of_[input] = add_gate(input, -1, epoch);
  }

  void add_copies(const std::vector<std::pair<Number, Number>>& uses) {
    if (uses.empty()) return;
    const Number epoch = new_epoch(false);
    for (const auto& [vertex, input] : uses) vertex_arcs_.push_back({add_gate(input, -1, epoch), vertex});
  }

  /// Vertices by height, those that are ready first come first (Kahn).
  void add_vertices() {
    const Number num_vertices = quotient_.num_vertices, gates = out_.num_gates();
    std::vector<std::vector<Number>> readers(num_vertices);
    std::vector<Number> missing(num_vertices), earliest(num_vertices, static_cast<Number>(out_.members.size()));
    std::vector<std::pair<Number, Number>> between;
    for (std::size_t node = 0; node < circuit_.nodes.size(); ++node) {
      const Number vertex = quotient_.vertex[node];
      if (vertex < 0) continue;
      const auto [left, right] = operands(circuit_.nodes[node]);
      for (const Number operand : {left, right}) {
        if (operand < 0 || quotient_.vertex[operand] < 0 || quotient_.vertex[operand] == vertex) continue;
        between.push_back({quotient_.vertex[operand], vertex});
      }
    }
    std::sort(between.begin(), between.end());
    between.erase(std::unique(between.begin(), between.end()), between.end());
    for (const auto& [from, to] : between) {
      readers[from].push_back(to);
      ++missing[to];
    }
    std::vector<Number> ready;
    for (Number v = 0; v < num_vertices; ++v) {
      if (missing[v] == 0) ready.push_back(v);
    }
    for (std::size_t i = 0; i < ready.size(); ++i) {
      for (const Number reader : readers[ready[i]]) {
        if (--missing[reader] == 0) ready.push_back(reader);
      }
    }
    std::vector<Number> epoch_of(num_vertices);
    for (const Number v : ready) {
      Number epoch = earliest[v];
      while (epoch < std::ssize(out_.members) && std::ssize(out_.members[epoch]) >= circuit_.width) ++epoch;
      if (epoch == std::ssize(out_.members)) new_epoch(false);
      epoch_of[v] = epoch;
      out_.members[epoch].push_back(gates + v);
      for (const Number reader : readers[v]) earliest[reader] = std::max(earliest[reader], epoch + 1);
    }
    out_.epoch.insert(out_.epoch.end(), epoch_of.begin(), epoch_of.end());
    for (auto& members : out_.members) std::sort(members.begin(), members.end());
    out_.arcs.reserve(vertex_arcs_.size() + between.size());
    for (const auto& [gate, vertex] : vertex_arcs_) out_.arcs.push_back({gate, gates + vertex});
    for (const auto& [from, to] : between) out_.arcs.push_back({gates + from, gates + to});
  }

  void find_columns() {
    for (const auto& members : out_.members) out_.num_columns = std::max(out_.num_columns, Number(members.size()));
    for (const Gate& gate : out_.gates) out_.num_columns = std::max(out_.num_columns, gate.lane + 1);
  }

  void find_height(const InstructionWeights& weights) {
    std::vector<std::array<Number, kNumCodes>> counts(quotient_.num_vertices);
    for (std::size_t node = 0; node < circuit_.nodes.size(); ++node) {
      const Number vertex = quotient_.vertex[node];
      if (vertex >= 0) ++counts[vertex][static_cast<std::size_t>(circuit_.nodes[node].code)];
    }
    for (const auto& members : out_.members) {
      for (int code = 0; code < kNumCodes; ++code) {
        Number most = 0;
        for (const Number place : members) {
          if (place >= out_.num_gates()) most = std::max(most, counts[place - out_.num_gates()][code]);
        }
        out_.height += most * weights.of(static_cast<Code>(code));
      }
    }
  }

  const ScalarCircuit& circuit_;
  const Quotient& quotient_;
  Epochs out_;
  std::map<Number, Number> gate_of_;                    // of inputs that have one gate
  std::vector<std::pair<Number, Number>> vertex_arcs_;  // (gate, vertex)
};

}  // namespace

Epochs find_epochs(const ScalarCircuit& circuit, const Quotient& quotient, const InstructionWeights& weights) {
  return EpochBuilder(circuit, quotient).build(weights);
}

}  // namespace lw::lanes
