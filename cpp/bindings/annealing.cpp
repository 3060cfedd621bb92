// The search by annealing in Python.
#include "lanes/annealing.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/lane_graphs.hpp"
#include "math/error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using lanes::AnnealOptions;

/// One of two words.
bool is_second(const nb::dict& options, const char* name, const char* first, const char* second) {
  const auto word = option<std::string>(options, name, first);
  if (word != first && word != second) {
    throw Error(ErrorKind::kValue,
                std::string(name) + " is \"" + first + "\" or \"" + second + "\", not \"" + word + "\"");
  }
  return word == second;
}

AnnealOptions to_options(const nb::dict& options) {
  AnnealOptions result;
  if (options.contains("weights")) result.weights = to_weights(options["weights"]);
  result.rounds = option(options, "rounds", result.rounds);
  result.cooling.moves = option(options, "moves", result.cooling.moves);
  result.cooling.temperature = option(options, "temperature", result.cooling.temperature);
  result.cooling.rate = option(options, "cooling", result.cooling.rate);
  result.seed = option(options, "seed", result.seed);
  if (is_second(options, "contraction", "arc", "class")) result.contraction = AnnealOptions::Contraction::kClass;
  if (is_second(options, "start", "enumerated", "matched")) result.start = AnnealOptions::Start::kMatched;
  return result;
}

nb::dict anneal(const nb::dict& graph, const nb::dict& options) {
  const lanes::Circuit circuit = to_circuit(graph);
  const AnnealOptions searched = to_options(options);
  lanes::AnnealTrace trace;
  lanes::Schedule schedule;
  {
    nb::gil_scoped_release released;
    schedule = lanes::anneal(circuit, searched, &trace);
  }
  nb::dict result = from_schedule(schedule);
  result["epoch"] = nb::cast(trace.epoch);
  nb::list loads;
  for (const auto& [input, epoch, lane] : trace.loads) loads.append(nb::make_tuple(input, epoch, lane));
  result["loads"] = loads;
  result["tried"] = nb::cast(trace.tried);
  result["best"] = nb::cast(trace.best);
  result["cost"] = trace.cost;
  result["rotations"] = trace.rotations;
  result["height"] = trace.height;
  return result;
}

}  // namespace

void bind_annealing(nb::module_& m) {
  m.def(
      "anneal", &anneal, "graph"_a, "options"_a = nb::dict(),
      "Schedule, cost and its history of Coyote's search. Options: weights, rounds, moves, temperature, cooling, seed, "
      "contraction (\"arc\", \"class\"), start (\"enumerated\", \"matched\").");
}

}  // namespace lw
