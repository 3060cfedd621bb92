// From a schedule to vector code.
#pragma once

#include "lanes/movement.hpp"
#include "lanes/schedule.hpp"

namespace lw::lanes {

// The vector program that computes every pack of a schedule in its lanes; `work`, if given, is increased by the lanes
// looked at. Throws kValue for a schedule that is not one of the circuit.
VectorProgram synthesize(const Circuit& circuit, const Values& values, const Schedule& schedule, const Weights& weights,
                         const MovementOptions& options, double* work = nullptr);

}  // namespace lw::lanes
