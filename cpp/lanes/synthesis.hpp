// From a schedule to vector code.
#pragma once

#include <limits>

#include "lanes/data_movement.hpp"
#include "lanes/schedule.hpp"

namespace lw::lanes {

// What synthesis is given and gives beside the program.
struct SynthesisBudget {
  double limit =
      std::numeric_limits<double>::infinity();  // give up where the cost exceeds it: the cost is infinite then
  double work = 0;                              // increased by the lanes looked at
};

// The vector program that computes every pack of a schedule in its lanes. Throws kValue for a schedule that is not one
// of the circuit, kRange where the copies of inputs do not fit.
VectorProgram synthesize(const ScalarCircuit& circuit, const Values& values, const LaneSchedule& schedule,
                         const InstructionWeights& weights, const MovementOptions& options,
                         SynthesisBudget* budget = nullptr);

}  // namespace lw::lanes
