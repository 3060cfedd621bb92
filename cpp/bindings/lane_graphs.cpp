#include "bindings/lane_graphs.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <string>

#include "math/error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using lanes::Code;
using lanes::Number;
using Numbers = std::vector<Number>;

void require(bool holds, const std::string& what) {
  if (!holds) throw Error(ErrorKind::kValue, "circuit: " + what);
}

Numbers numbers(const nb::dict& graph, const char* name, std::size_t size) {
  auto result = nb::cast<Numbers>(graph[name]);
  require(result.size() == size, std::string(name) + " has " + std::to_string(result.size()) + " entries for " +
                                     std::to_string(size) + " nodes");
  return result;
}

bool in_range(Number number, std::size_t size) { return number >= 0 && static_cast<std::size_t>(number) < size; }

void check_node(const lanes::Node& node, std::size_t number, std::size_t num_groups) {
  const std::string where = "node " + std::to_string(number);
  if (node.code == Code::kInput) {
    require(in_range(node.group, num_groups),
            where + " is in group " + std::to_string(node.group) + " of " + std::to_string(num_groups));
    return;
  }
  require(in_range(node.left, number), where + " reads node " + std::to_string(node.left));
  if (is_binary(node.code)) require(in_range(node.right, number), where + " reads node " + std::to_string(node.right));
}

void check_fixed(const lanes::Circuit& circuit) {
  std::vector<std::size_t> inputs(circuit.groups.size());
  for (const lanes::Node& node : circuit.nodes) {
    if (node.code == Code::kInput) ++inputs[node.group];
  }
  for (std::size_t group = 0; group < circuit.groups.size(); ++group) {
    const Numbers& fixed = circuit.groups[group].fixed;
    if (fixed.empty()) continue;
    require(fixed.size() == inputs[group], "group " + std::to_string(group) + " has " + std::to_string(inputs[group]) +
                                               " inputs and " + std::to_string(fixed.size()) + " fixed lanes");
    for (const Number lane : fixed) {
      require(in_range(lane, circuit.width), "lane " + std::to_string(lane) + " of " + std::to_string(circuit.width));
    }
  }
}

}  // namespace

lanes::Circuit to_circuit(const nb::dict& graph) {
  const auto codes = nb::cast<Numbers>(graph["code"]);
  const Numbers left = numbers(graph, "left", codes.size()), right = numbers(graph, "right", codes.size()),
                group = numbers(graph, "group", codes.size());
  const auto packings = nb::cast<Numbers>(graph["packing"]);
  const auto fixed = nb::cast<std::vector<Numbers>>(graph["fixed"]);
  require(fixed.size() == packings.size(), "packing and fixed differ in length");
  lanes::Circuit circuit;
  for (std::size_t i = 0; i < packings.size(); ++i) {
    require(in_range(packings[i], 3), "packing " + std::to_string(packings[i]));
    circuit.groups.push_back({static_cast<lanes::Packing>(packings[i]), fixed[i]});
  }
  for (std::size_t i = 0; i < codes.size(); ++i) {
    require(in_range(codes[i], lanes::kNumCodes), "code " + std::to_string(codes[i]));
    circuit.nodes.push_back({static_cast<Code>(codes[i]), left[i], right[i], group[i]});
    check_node(circuit.nodes.back(), i, circuit.groups.size());
  }
  circuit.outputs = nb::cast<Numbers>(graph["outputs"]);
  for (const Number output : circuit.outputs) {
    require(in_range(output, codes.size()), "output " + std::to_string(output));
  }
  circuit.width = nb::cast<Number>(graph["width"]);
  require(circuit.width > 0 && std::has_single_bit(static_cast<std::uint32_t>(circuit.width)),
          "width " + std::to_string(circuit.width) + " is not a power of two");
  check_fixed(circuit);
  return circuit;
}

nb::dict from_circuit(const lanes::Circuit& circuit) {
  Numbers code, left, right, group, packing;
  std::vector<Numbers> fixed;
  for (const lanes::Node& node : circuit.nodes) {
    code.push_back(static_cast<Number>(node.code));
    left.push_back(node.left);
    right.push_back(node.right);
    group.push_back(node.group);
  }
  for (const lanes::Group& own : circuit.groups) {
    packing.push_back(static_cast<Number>(own.packing));
    fixed.push_back(own.fixed);
  }
  nb::dict result;
  result["code"] = nb::cast(code);
  result["left"] = nb::cast(left);
  result["right"] = nb::cast(right);
  result["group"] = nb::cast(group);
  result["packing"] = nb::cast(packing);
  result["fixed"] = nb::cast(fixed);
  result["outputs"] = nb::cast(circuit.outputs);
  result["width"] = circuit.width;
  return result;
}

lanes::Schedule to_schedule(const nb::dict& schedule) {
  lanes::Schedule result;
  for (auto& [code, nodes] : nb::cast<std::vector<std::pair<Number, Numbers>>>(schedule["packs"])) {
    require(in_range(code, lanes::kNumCodes), "code " + std::to_string(code));
    result.packs.push_back({static_cast<Code>(code), std::move(nodes)});
  }
  result.lane = nb::cast<Numbers>(schedule["lane"]);
  for (const bool exchanged : nb::cast<std::vector<bool>>(schedule["exchanged"])) result.exchanged.push_back(exchanged);
  return result;
}

nb::dict from_schedule(const lanes::Schedule& schedule) {
  nb::list packs;
  for (const lanes::Pack& pack : schedule.packs) packs.append(nb::make_tuple(static_cast<int>(pack.code), pack.nodes));
  nb::list exchanged;
  for (const bool one : schedule.exchanged) exchanged.append(one);
  nb::dict result;
  result["packs"] = packs;
  result["lane"] = nb::cast(schedule.lane);
  result["exchanged"] = exchanged;
  return result;
}

lanes::Weights to_weights(const nb::object& weights) {
  const auto w = nb::cast<std::vector<double>>(weights);
  require(w.size() == 6 || w.size() == 7, "weights are [rotate, mul, mul_constant, add_constant, add, neg, (level)]");
  return {.rotate = w[0],
          .mul = w[1],
          .mul_constant = w[2],
          .add_constant = w[3],
          .add = w[4],
          .neg = w[5],
          .level = w.size() == 7 ? w[6] : 0};
}

}  // namespace lw
