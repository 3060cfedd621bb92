// The search for lanes and the synthesis of vector code in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/bindings.hpp"
#include "bindings/lane_records.hpp"
#include "lanes/initial_schedules.hpp"
#include "lanes/search.hpp"
#include "lanes/span_annealing.hpp"
#include "math/error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using lanes::Number;

// Input tables and computed lanes of a program name nodes through `origin`; -1: of no node of the first circuit.
void name_nodes(lanes::VectorProgram& program, const std::vector<Number>& origin) {
  for (lanes::VectorInstruction& made : program.code) {
    if (made.code == lanes::VectorCode::kInput) {
      for (lanes::LaneEntry& entry : made.table) entry.second = origin[entry.second];
    }
    for (lanes::LaneEntry& entry : made.computes) entry.second = origin[entry.second];
  }
}

lanes::FoundProgram vectorize(const lanes::ScalarCircuit& circuit, const lanes::InstructionWeights& weights,
                              double work, std::uint64_t seed, bool copies, bool spread, bool joined, bool zero_lanes,
                              const lanes::SearchTuning& tuning) {
  lanes::SearchOptions options;
  options.work = work;
  options.seed = seed;
  options.copies = copies;
  options.movement = {spread, joined, zero_lanes};
  options.tuning = tuning;
  nb::gil_scoped_release released;
  lanes::FoundProgram found = lanes::search(circuit, weights, options);
  name_nodes(found.program, found.circuit.origin);
  return found;
}

lanes::VectorProgram synthesize(const lanes::ScalarCircuit& circuit, const lanes::LaneSchedule& schedule,
                                const lanes::InstructionWeights& weights, bool spread, bool joined, bool zero_lanes) {
  return lanes::synthesize(circuit, lanes::Values(circuit), schedule, weights, {spread, joined, zero_lanes});
}

// A schedule after some moves at a fixed temperature, with the estimate as the moves changed it and as counted anew.
std::tuple<lanes::LaneSchedule, double, double> anneal_spans(const lanes::ScalarCircuit& circuit,
                                                             const lanes::LaneSchedule& schedule,
                                                             const lanes::InstructionWeights& weights, int moves,
                                                             std::uint64_t seed, double temperature) {
  lanes::SpanAnnealing annealing(circuit, schedule, weights);
  lanes::Random random(seed);
  for (; moves > 0; --moves) annealing.step(random, temperature);
  return {annealing.schedule(), annealing.cost(), annealing.recount()};
}

lanes::Association to_association(const std::string& name) {
  if (name == "trees") return lanes::Association::kTrees;
  if (name == "rows") return lanes::Association::kRows;
  if (name == "as written") return lanes::Association::kAsWritten;
  throw Error(ErrorKind::kRange, "no association of sums: " + name);
}

std::pair<lanes::ScalarCircuit, std::vector<Number>> rewritten(const lanes::ScalarCircuit& circuit,
                                                               const std::string& association) {
  lanes::Rewritten made = lanes::rewritten(circuit, to_association(association));
  return {std::move(made.circuit), std::move(made.origin)};
}

lanes::LaneSchedule first_schedule(const lanes::ScalarCircuit& circuit) {
  lanes::LaneSchedule schedule{lanes::packs_of(circuit, lanes::PackOrder::kReady), {}, {}};
  lanes::assign_lanes(circuit, schedule, lanes::LaneOrder::kTrees, false);
  lanes::place_inputs(circuit, schedule);
  return schedule;
}

}  // namespace

void bind_lanes(nb::module_& m) {
  const lanes::SearchOptions search;
  const lanes::MovementOptions movement;
  bind_lane_records(m);
  m.def("vectorize", &vectorize, "circuit"_a, "weights"_a, nb::kw_only(), "work"_a = search.work,
        "seed"_a = search.seed, "copies"_a = search.copies, "spread"_a = movement.spread, "joined"_a = movement.joined,
        "zero_lanes"_a = movement.zero_lanes, "tuning"_a = search.tuning,
        "The cheapest vector program found for a circuit. work: lanes to look at; copies: of operations too; spread, "
        "joined, zero_lanes: what data movement may use.");
  m.def("synthesize", &synthesize, "circuit"_a, "schedule"_a, "weights"_a, nb::kw_only(), "spread"_a = movement.spread,
        "joined"_a = movement.joined, "zero_lanes"_a = movement.zero_lanes, "The vector program of a schedule.");
  m.def("scalar_schedule", &lanes::scalar_schedule, "circuit"_a,
        "Every operation an instruction of its own, all in lane 0.");
  m.def("first_schedule", &first_schedule, "circuit"_a, "A regular schedule, from which a search may start.");
  m.def("anneal_spans", &anneal_spans, "circuit"_a, "schedule"_a, "weights"_a, nb::kw_only(), "moves"_a = 1000,
        "seed"_a = std::uint64_t{0}, "temperature"_a = 0.1,
        "The lanes of a schedule after quick annealing, its estimate as the moves changed it, and as counted anew.");
  m.def("rewritten", &rewritten, "circuit"_a, "association"_a,
        "An equal circuit with equal operations once, and which node of the given one each of its nodes is (-1: none). "
        "Association of long sums and products: as written; trees, of powers of two; or rows, where terms of a sum "
        "that belong together are added first.");
}

}  // namespace lw
