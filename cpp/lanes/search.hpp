// The search for the cheapest vector program of a circuit.
#pragma once

#include <cstdint>
#include <string>

#include "lanes/rewrite.hpp"
#include "lanes/synthesis.hpp"

namespace lw::lanes {

struct SearchOptions {
  double work = 4e6;  // lanes looked at: an effort that does not depend on the machine
  std::uint64_t seed = 0;
  MovementOptions movement;
};

struct Found {
  Rewritten circuit;  // the circuit that the schedule is one of: sums may be in other trees
  Schedule schedule;
  VectorProgram program;
  std::int64_t tried = 0;  // schedules
};

// The cheapest program found: from regular first schedules, and the scalar one, by annealing on the true cost of the
// code. Deterministic for the same circuit, weights and options.
Found search(const Circuit& circuit, const Weights& weights, const SearchOptions& options);

}  // namespace lw::lanes
