// The search for lanes and the synthesis of vector code in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/lane_graphs.hpp"
#include "lanes/search.hpp"
#include "lanes/spans.hpp"
#include "lanes/starts.hpp"
#include "math/error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using lanes::Number;

lanes::MovementOptions to_movement(const nb::dict& options) {
  lanes::MovementOptions result;
  result.spread = option(options, "spread", result.spread);
  result.joined = option(options, "joined", result.joined);
  result.zero_lanes = option(options, "zero_lanes", result.zero_lanes);
  return result;
}

// Input tables and computed lanes name nodes of the circuit that was given, through `origin`; -1: of no node of it.
nb::dict from_program(const lanes::VectorProgram& program, const std::vector<Number>* origin) {
  const auto name = [&](Number node) { return origin == nullptr ? node : (*origin)[node]; };
  nb::list code, left, right, steps, tables, computes, stage, is_mask, outputs;
  for (const lanes::Instruction& made : program.code) {
    code.append(static_cast<int>(made.code));
    left.append(made.left);
    right.append(made.right);
    steps.append(made.steps);
    stage.append(made.stage);
    is_mask.append(made.is_mask);
    std::vector<lanes::Entry> table = made.table, computed = made.computes;
    if (made.code == lanes::VectorCode::kInput) {
      for (lanes::Entry& entry : table) entry.second = name(entry.second);
    }
    for (lanes::Entry& entry : computed) entry.second = name(entry.second);
    tables.append(nb::cast(table));
    computes.append(nb::cast(computed));
  }
  for (const lanes::Output& output : program.outputs) outputs.append(nb::make_tuple(output.instruction, output.lane));
  const lanes::Counts& counted = program.counts;
  nb::dict counts;
  counts["rotations"] = counted.rotations;
  counts["blends"] = counted.blends;
  counts["masks"] = counted.masks;
  counts["muls"] = counted.muls;
  counts["mul_constants"] = counted.mul_constants;
  counts["adds"] = counted.adds;
  counts["add_constants"] = counted.add_constants;
  counts["negs"] = counted.negs;
  counts["inputs"] = counted.inputs;
  nb::dict result;
  result["code"] = code;
  result["left"] = left;
  result["right"] = right;
  result["steps"] = steps;
  result["tables"] = tables;
  result["computes"] = computes;
  result["stage"] = stage;
  result["is_mask"] = is_mask;
  result["outputs"] = outputs;
  result["counts"] = counts;
  result["depth"] = program.depth;
  result["cost"] = program.cost;
  return result;
}

nb::dict vectorize(const nb::dict& graph, const nb::object& weights, const nb::dict& options) {
  const lanes::Circuit circuit = to_circuit(graph);
  const lanes::Weights prices = to_weights(weights);
  lanes::SearchOptions searched;
  searched.work = option(options, "work", searched.work);
  searched.seed = option(options, "seed", searched.seed);
  searched.copies = option(options, "copies", searched.copies);
  searched.movement = to_movement(options);
  lanes::Found found;
  {
    nb::gil_scoped_release released;
    found = lanes::search(circuit, prices, searched);
  }
  nb::dict result = from_program(found.program, &found.circuit.origin);
  result["tried"] = found.tried;
  if (option(options, "schedule", false)) {
    result["circuit"] = from_circuit(found.circuit.circuit);
    result["schedule"] = from_schedule(found.schedule);
  }
  return result;
}

nb::dict synthesize(const nb::dict& graph, const nb::dict& schedule, const nb::object& weights,
                    const nb::dict& options) {
  const lanes::Circuit circuit = to_circuit(graph);
  const lanes::Values values(circuit);
  return from_program(
      lanes::synthesize(circuit, values, to_schedule(schedule), to_weights(weights), to_movement(options)), nullptr);
}

// A schedule after some moves at a fixed temperature, with the estimate as the moves changed it and as counted anew.
nb::dict anneal_spans(const nb::dict& graph, const nb::dict& schedule, const nb::object& weights,
                      const nb::dict& options) {
  const lanes::Circuit circuit = to_circuit(graph);
  lanes::SpanAnnealing annealing(circuit, to_schedule(schedule), to_weights(weights));
  lanes::Random random(option(options, "seed", std::uint64_t{0}));
  const double temperature = option(options, "temperature", 0.1);
  for (int move = option(options, "moves", 1000); move > 0; --move) annealing.step(random, temperature);
  nb::dict result = from_schedule(annealing.schedule());
  result["estimate"] = annealing.cost();
  result["recounted"] = annealing.recount();
  return result;
}

lanes::Association to_association(const std::string& name) {
  if (name == "trees") return lanes::Association::kTrees;
  if (name == "rows") return lanes::Association::kRows;
  if (name == "as written") return lanes::Association::kAsWritten;
  throw Error(ErrorKind::kRange, "no association of sums: " + name);
}

// An equal circuit with equal operations once, and `origin`: which node of the first one each of its nodes is.
nb::dict rewritten(const nb::dict& graph, const std::string& association) {
  const lanes::Rewritten made = lanes::rewritten(to_circuit(graph), to_association(association));
  nb::dict result = from_circuit(made.circuit);
  result["origin"] = nb::cast(made.origin);
  return result;
}

}  // namespace

void bind_lanes(nb::module_& m) {
  m.def("vectorize", &vectorize, "graph"_a, "weights"_a, "options"_a = nb::dict(),
        "The cheapest vector program found for a circuit. Options: work (lanes to look at), seed, copies (of "
        "operations too), spread, joined, "
        "zero_lanes (what data movement may use), schedule (whether to give it, with the circuit that it is one of).");
  m.def("synthesize", &synthesize, "graph"_a, "schedule"_a, "weights"_a, "options"_a = nb::dict(),
        "The vector program of a schedule.");
  m.def(
      "scalar_schedule", [](const nb::dict& graph) { return from_schedule(lanes::scalar_schedule(to_circuit(graph))); },
      "graph"_a, "Every operation an instruction of its own, all in lane 0.");
  m.def("anneal_spans", &anneal_spans, "graph"_a, "schedule"_a, "weights"_a, "options"_a = nb::dict(),
        "The lanes of a schedule after quick annealing, and its estimate. Options: moves, seed, temperature.");
  m.def(
      "first_schedule",
      [](const nb::dict& graph) {
        const lanes::Circuit circuit = to_circuit(graph);
        lanes::Schedule schedule{lanes::packs_of(circuit, lanes::PackOrder::kReady), {}, {}};
        lanes::assign_lanes(circuit, schedule, lanes::LaneOrder::kTrees, false);
        lanes::place_inputs(circuit, schedule);
        return from_schedule(schedule);
      },
      "graph"_a, "A regular schedule, from which a search may start.");
  m.def("rewritten", &rewritten, "graph"_a, "association"_a,
        "An equal circuit with equal operations once. Association of long sums and products: as written; trees, of "
        "powers of two; or rows, where terms of a sum that belong together are added first.");
}

}  // namespace lw
