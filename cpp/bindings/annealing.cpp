// The search by annealing in Python.
#include "lanes/annealing.hpp"

#include <nanobind/stl/string.h>

#include "bindings/bindings.hpp"
#include "bindings/lane_records.hpp"
#include "math/error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using lanes::AnnealOptions;

/// Whether `word` is the second of two words; throws where it is neither.
bool is_second(const std::string& word, const char* name, const char* first, const char* second) {
  if (word != first && word != second) {
    throw Error(ErrorKind::kValue,
                std::string(name) + " is \"" + first + "\" or \"" + second + "\", not \"" + word + "\"");
  }
  return word == second;
}

AnnealedSchedule anneal(const lanes::ScalarCircuit& circuit, const lanes::InstructionWeights& weights, int rounds,
                        const lanes::Cooling& cooling, std::uint64_t seed, const std::string& contraction,
                        const std::string& start) {
  AnnealOptions options;
  options.weights = weights;
  options.rounds = rounds;
  options.cooling = cooling;
  options.seed = seed;
  if (is_second(contraction, "contraction", "arc", "class")) options.contraction = AnnealOptions::Contraction::kClass;
  if (is_second(start, "start", "enumerated", "matched")) options.start = AnnealOptions::Start::kMatched;
  AnnealedSchedule found;
  nb::gil_scoped_release released;
  found.schedule = lanes::anneal(circuit, options, &found.trace);
  return found;
}

}  // namespace

void bind_annealing(nb::module_& m) {
  const AnnealOptions usual;
  m.def(
      "anneal",
      [](const lanes::ScalarCircuit& circuit, const lanes::InstructionWeights& weights, int rounds, int moves,
         double temperature, double cooling, std::uint64_t seed, const std::string& contraction,
         const std::string& start) {
        return anneal(circuit, weights, rounds, {moves, temperature, cooling}, seed, contraction, start);
      },
      "circuit"_a, nb::kw_only(), "weights"_a = usual.weights, "rounds"_a = usual.rounds,
      "moves"_a = usual.cooling.moves, "temperature"_a = usual.cooling.temperature, "cooling"_a = usual.cooling.rate,
      "seed"_a = usual.seed, "contraction"_a = "arc", "start"_a = "enumerated",
      "Schedule, cost and its history of Coyote's search, at its own weights. contraction: \"arc\" or \"class\"; "
      "start: \"enumerated\" or \"matched\".");
}

}  // namespace lw
