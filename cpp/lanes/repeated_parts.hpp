// Parts of a circuit that share no operation, and which of them are the same computation on other inputs.
#pragma once

#include <vector>

#include "lanes/schedule.hpp"

namespace lw::lanes {

// The same computation several times: each instance lists its operations, in one order for all of them.
struct RepeatedPart {
  std::vector<std::vector<Number>> instances;
};

// Every operation of the circuit that an output needs, in exactly one instance of one part. Inputs may be shared.
std::vector<RepeatedPart> find_repeated_parts(const ScalarCircuit& circuit);

// One instance as a circuit by itself: its inputs, then its operations in their order.
struct CircuitPart {
  ScalarCircuit circuit;
  std::vector<Number> nodes;  // of the whole circuit
};
CircuitPart part_of(const ScalarCircuit& circuit, const std::vector<Number>& operations);

// How instances lie beside each other.
enum class Tiling {
  kTight,       // one after the other
  kPadded,      // the same, at multiples of a power of two
  kInterleaved  // their first lanes, their second lanes...
};

// A schedule of the whole circuit from one of each part (of `part_of` its first instance), with the operations of all
// instances in one instruction; instructions of different parts are joined where that saves most. Without packs if
// the lanes do not suffice. Grouped inputs have no lanes yet.
LaneSchedule tile_schedules(const ScalarCircuit& circuit, const std::vector<RepeatedPart>& repeated,
                            const std::vector<LaneSchedule>& schedules, Tiling tiling,
                            const InstructionWeights& weights);

}  // namespace lw::lanes
