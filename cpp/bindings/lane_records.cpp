#include "bindings/lane_records.hpp"

#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
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

void check_fixed(const lanes::ScalarCircuit& circuit) {
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

void init_circuit(lanes::ScalarCircuit* self, const Numbers& code, const Numbers& left, const Numbers& right,
                  const Numbers& group, const Numbers& packing, const std::vector<Numbers>& fixed, Numbers outputs,
                  Number width) {
  for (const auto& [name, entries] : {std::pair{"left", &left}, {"right", &right}, {"group", &group}}) {
    require(entries->size() == code.size(), std::string(name) + " has " + std::to_string(entries->size()) +
                                                " entries for " + std::to_string(code.size()) + " nodes");
  }
  require(fixed.size() == packing.size(), "packing and fixed differ in length");
  lanes::ScalarCircuit circuit;
  for (std::size_t i = 0; i < packing.size(); ++i) {
    require(in_range(packing[i], 3), "packing " + std::to_string(packing[i]));
    circuit.groups.push_back({static_cast<lanes::Packing>(packing[i]), fixed[i]});
  }
  for (std::size_t i = 0; i < code.size(); ++i) {
    require(in_range(code[i], lanes::kNumCodes), "code " + std::to_string(code[i]));
    circuit.nodes.push_back({static_cast<Code>(code[i]), left[i], right[i], group[i]});
    check_node(circuit.nodes.back(), i, circuit.groups.size());
  }
  circuit.outputs = std::move(outputs);
  for (const Number output : circuit.outputs) {
    require(in_range(output, code.size()), "output " + std::to_string(output));
  }
  require(width > 0 && std::has_single_bit(static_cast<std::uint32_t>(width)),
          "width " + std::to_string(width) + " is not a power of two");
  circuit.width = width;
  check_fixed(circuit);
  new (self) lanes::ScalarCircuit(std::move(circuit));
}

/// A column of numbers: `number` of each element.
template <class T, class F>
Numbers column(const std::vector<T>& elements, const F& number) {
  Numbers result;
  result.reserve(elements.size());
  for (const T& element : elements) result.push_back(static_cast<Number>(number(element)));
  return result;
}

void bind_circuit(nb::module_& m) {
  using lanes::Group;
  using lanes::Node;
  using lanes::ScalarCircuit;
  nb::class_<ScalarCircuit>(
      m, "ScalarCircuit",
      "Code, left, right and group have one entry a node, packing and fixed one a group. ValueError "
      "unless operands come before their uses and every number is in range.")
      .def("__init__", &init_circuit, "code"_a, "left"_a, "right"_a, "group"_a, "packing"_a, "fixed"_a, "outputs"_a,
           "width"_a)
      .def_prop_ro(
          "code",
          [](const ScalarCircuit& self) { return column(self.nodes, [](const Node& node) { return node.code; }); })
      .def_prop_ro(
          "left",
          [](const ScalarCircuit& self) { return column(self.nodes, [](const Node& node) { return node.left; }); })
      .def_prop_ro(
          "right",
          [](const ScalarCircuit& self) { return column(self.nodes, [](const Node& node) { return node.right; }); })
      .def_prop_ro(
          "group",
          [](const ScalarCircuit& self) { return column(self.nodes, [](const Node& node) { return node.group; }); })
      .def_prop_ro("packing",
                   [](const ScalarCircuit& self) {
                     return column(self.groups, [](const Group& group) { return group.packing; });
                   })
      .def_prop_ro("fixed",
                   [](const ScalarCircuit& self) {
                     std::vector<Numbers> fixed;
                     for (const Group& group : self.groups) fixed.push_back(group.fixed);
                     return fixed;
                   })
      .def_ro("outputs", &ScalarCircuit::outputs)
      .def_ro("width", &ScalarCircuit::width)
      .def(nb::self == nb::self);
}

void bind_schedule(nb::module_& m) {
  using lanes::LaneSchedule;
  nb::class_<LaneSchedule>(
      m, "LaneSchedule",
      "Which operations share an instruction, in which lanes they are, and which of them read their "
      "operands in the other order.")
      .def(
          "__init__",
          [](LaneSchedule* self, std::vector<std::pair<Number, Numbers>> packs, Numbers lane,
             const std::vector<bool>& exchanged) {
            LaneSchedule schedule{{}, std::move(lane), {exchanged.begin(), exchanged.end()}};
            for (auto& [code, nodes] : packs) {
              require(in_range(code, lanes::kNumCodes), "code " + std::to_string(code));
              schedule.packs.push_back({static_cast<Code>(code), std::move(nodes)});
            }
            new (self) LaneSchedule(std::move(schedule));
          },
          "packs"_a, "lane"_a, "exchanged"_a)
      .def_prop_ro("packs",
                   [](const LaneSchedule& self) {
                     std::vector<std::pair<Number, Numbers>> packs;
                     for (const lanes::Pack& pack : self.packs) {
                       packs.emplace_back(static_cast<Number>(pack.code), pack.nodes);
                     }
                     return packs;
                   })
      .def_ro("lane", &LaneSchedule::lane)
      .def_prop_ro(
          "exchanged",
          [](const LaneSchedule& self) { return std::vector<bool>(self.exchanged.begin(), self.exchanged.end()); })
      .def(nb::self == nb::self);
  nb::class_<AnnealedSchedule>(m, "AnnealedSchedule", "A schedule of Coyote's search, its cost and the cost's history.")
      .def_ro("schedule", &AnnealedSchedule::schedule)
      .def_prop_ro("epoch", [](const AnnealedSchedule& self) { return self.trace.epoch; })
      .def_prop_ro("loads",
                   [](const AnnealedSchedule& self) {
                     std::vector<std::tuple<Number, Number, Number>> loads;
                     for (const auto& [input, epoch, lane] : self.trace.loads) loads.emplace_back(input, epoch, lane);
                     return loads;
                   })
      .def_prop_ro("tried", [](const AnnealedSchedule& self) { return self.trace.tried; })
      .def_prop_ro("best", [](const AnnealedSchedule& self) { return self.trace.best; })
      .def_prop_ro("cost", [](const AnnealedSchedule& self) { return self.trace.cost; })
      .def_prop_ro("rotations", [](const AnnealedSchedule& self) { return self.trace.rotations; })
      .def_prop_ro("height", [](const AnnealedSchedule& self) { return self.trace.height; });
}

void bind_weights(nb::module_& m) {
  using lanes::InstructionWeights;
  nb::class_<InstructionWeights>(
      m, "InstructionWeights",
      "The price of one vector instruction of each kind, in any unit; level: the part by which every "
      "one becomes dearer for one more product in a row.")
      .def(nb::init<double, double, double, double, double, double, double>(), "rotate"_a, "mul"_a, "mul_constant"_a,
           "add_constant"_a, "add"_a, "neg"_a, "level"_a = 0.0)
      .def_ro("rotate", &InstructionWeights::rotate)
      .def_ro("mul", &InstructionWeights::mul)
      .def_ro("mul_constant", &InstructionWeights::mul_constant)
      .def_ro("add_constant", &InstructionWeights::add_constant)
      .def_ro("add", &InstructionWeights::add)
      .def_ro("neg", &InstructionWeights::neg)
      .def_ro("level", &InstructionWeights::level)
      .def(
          "of",
          [](const InstructionWeights& self, Number code) {
            require(in_range(code, lanes::kNumCodes), "code " + std::to_string(code));
            return self.of(static_cast<Code>(code));
          },
          "code"_a, "Of the instruction of a pack.");
}

void bind_tuning(nb::module_& m) {
  using lanes::SearchTuning;
  const SearchTuning usual;
  nb::class_<SearchTuning>(m, "SearchTuning", "Constants of the search (cpp/lanes/tuning.hpp), to study what they do.")
      .def(nb::init<double, double, double, double, double, double, std::size_t, double, double, double, double, double,
                    double, double, std::size_t, std::size_t>(),
           nb::kw_only(), "parts_share"_a = usual.parts_share, "starts_share"_a = usual.starts_share,
           "estimates_share"_a = usual.estimates_share, "quotients_share"_a = usual.quotients_share,
           "last_share"_a = usual.last_share, "arcs"_a = usual.arcs, "annealed"_a = usual.annealed, "hot"_a = usual.hot,
           "warm"_a = usual.warm, "cold"_a = usual.cold, "settled"_a = usual.settled,
           "most_rounds"_a = usual.most_rounds, "hopeless"_a = usual.hopeless, "far"_a = usual.far,
           "most_copies"_a = usual.most_copies, "most_quotiented"_a = usual.most_quotiented)
      .def_ro("parts_share", &SearchTuning::parts_share)
      .def_ro("starts_share", &SearchTuning::starts_share)
      .def_ro("estimates_share", &SearchTuning::estimates_share)
      .def_ro("quotients_share", &SearchTuning::quotients_share)
      .def_ro("last_share", &SearchTuning::last_share)
      .def_ro("arcs", &SearchTuning::arcs)
      .def_ro("annealed", &SearchTuning::annealed)
      .def_ro("hot", &SearchTuning::hot)
      .def_ro("warm", &SearchTuning::warm)
      .def_ro("cold", &SearchTuning::cold)
      .def_ro("settled", &SearchTuning::settled)
      .def_ro("most_rounds", &SearchTuning::most_rounds)
      .def_ro("hopeless", &SearchTuning::hopeless)
      .def_ro("far", &SearchTuning::far)
      .def_ro("most_copies", &SearchTuning::most_copies)
      .def_ro("most_quotiented", &SearchTuning::most_quotiented);
}

void bind_instructions(nb::module_& m) {
  using lanes::InstructionCounts;
  using lanes::VectorInstruction;
  nb::class_<VectorInstruction>(
      m, "VectorInstruction",
      "The registers it reads (left of an input: its group, right: which vector of that), table and "
      "computes as (lane, node or constant).")
      .def(
          "__init__",
          [](VectorInstruction* self, Number code, Number left, Number right, Number steps,
             std::vector<lanes::LaneEntry> table, std::vector<lanes::LaneEntry> computes, Number stage, bool is_mask) {
            require(in_range(code, lanes::kNumVectorCodes), "vector code " + std::to_string(code));
            new (self) VectorInstruction{static_cast<lanes::VectorCode>(code),
                                         left,
                                         right,
                                         steps,
                                         std::move(table),
                                         std::move(computes),
                                         stage,
                                         is_mask};
          },
          "code"_a, "left"_a = -1, "right"_a = -1, "steps"_a = 0, "table"_a = std::vector<lanes::LaneEntry>(),
          "computes"_a = std::vector<lanes::LaneEntry>(), "stage"_a = -1, "is_mask"_a = false)
      .def_prop_ro("code", [](const VectorInstruction& self) { return static_cast<Number>(self.code); })
      .def_ro("left", &VectorInstruction::left)
      .def_ro("right", &VectorInstruction::right)
      .def_ro("steps", &VectorInstruction::steps)
      .def_ro("table", &VectorInstruction::table)
      .def_ro("computes", &VectorInstruction::computes)
      .def_ro("stage", &VectorInstruction::stage)
      .def_ro("is_mask", &VectorInstruction::is_mask)
      .def(nb::self == nb::self);
  nb::class_<InstructionCounts>(m, "InstructionCounts", "Instructions of a vector program by kind.")
      .def(nb::init<Number, Number, Number, Number, Number, Number, Number, Number, Number>(), "rotations"_a = 0,
           "blends"_a = 0, "masks"_a = 0, "muls"_a = 0, "mul_constants"_a = 0, "adds"_a = 0, "add_constants"_a = 0,
           "negs"_a = 0, "inputs"_a = 0)
      .def_ro("rotations", &InstructionCounts::rotations)
      .def_ro("blends", &InstructionCounts::blends)
      .def_ro("masks", &InstructionCounts::masks)
      .def_ro("muls", &InstructionCounts::muls)
      .def_ro("mul_constants", &InstructionCounts::mul_constants)
      .def_ro("adds", &InstructionCounts::adds)
      .def_ro("add_constants", &InstructionCounts::add_constants)
      .def_ro("negs", &InstructionCounts::negs)
      .def_ro("inputs", &InstructionCounts::inputs)
      .def(nb::self == nb::self);
}

void bind_programs(nb::module_& m) {
  using lanes::FoundProgram;
  using lanes::VectorProgram;
  using Places = std::vector<std::pair<Number, Number>>;
  nb::class_<VectorProgram>(m, "VectorProgram",
                            "Instructions (a new list each time), where the outputs lie as (register, lane), counts, "
                            "products in a row, and the price.")
      .def(
          "__init__",
          [](VectorProgram* self, std::vector<lanes::VectorInstruction> code, const Places& outputs,
             const lanes::InstructionCounts& counts, Number depth, double cost) {
            std::vector<lanes::Output> ends;
            for (const auto& [instruction, lane] : outputs) ends.push_back({instruction, lane});
            new (self) VectorProgram{std::move(code), std::move(ends), counts, depth, cost};
          },
          "code"_a, "outputs"_a, "counts"_a = lanes::InstructionCounts(), "depth"_a = 0, "cost"_a = 0.0)
      .def_prop_ro(
          "code", [](const VectorProgram& self) { return self.code; }, nb::rv_policy::copy)
      .def_prop_ro("outputs",
                   [](const VectorProgram& self) {
                     Places places;
                     for (const auto& [instruction, lane] : self.outputs) places.emplace_back(instruction, lane);
                     return places;
                   })
      .def_ro("counts", &VectorProgram::counts)
      .def_ro("depth", &VectorProgram::depth)
      .def_ro("cost", &VectorProgram::cost)
      .def(nb::self == nb::self);
  nb::class_<FoundProgram>(
      m, "FoundProgram",
      "The cheapest program of a search, which names nodes of the circuit that was given; the circuit "
      "that was searched, with the schedule of it; and how many schedules were tried.")
      .def_ro("program", &FoundProgram::program)
      .def_prop_ro("circuit", [](const FoundProgram& self) { return self.circuit.circuit; })
      .def_ro("schedule", &FoundProgram::schedule)
      .def_ro("tried", &FoundProgram::tried);
}

}  // namespace

void bind_lane_records(nb::module_& m) {
  bind_circuit(m);
  bind_schedule(m);
  bind_weights(m);
  bind_tuning(m);
  bind_instructions(m);
  bind_programs(m);
}

}  // namespace lw
