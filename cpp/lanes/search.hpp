// The search for the cheapest vector program of a circuit.
#pragma once

#include <cstdint>

#include "lanes/rewrite.hpp"
#include "lanes/synthesis.hpp"
#include "lanes/tuning.hpp"

namespace lw::lanes {

struct SearchOptions {
  double work =
      1.2e7;  // lanes looked at: an effort that does not depend on the machine; at least one schedule is tried
  std::uint64_t seed = 0;
  bool copies = false;  // also compute what has several uses once for each, in other lanes: takes more slots of inputs
  MovementOptions movement;
  SearchTuning tuning;
};

struct FoundProgram {
  Rewritten circuit;  // the circuit that the schedule is one of: sums may be in other trees
  LaneSchedule schedule;
  VectorProgram program;
  std::int64_t tried = 0;  // schedules
};

// The cheapest program found: from regular first schedules, and the scalar one, by annealing on the true cost of the
// code. Deterministic for the same circuit, weights and options.
FoundProgram search(const ScalarCircuit& circuit, const InstructionWeights& weights, const SearchOptions& options);

}  // namespace lw::lanes
