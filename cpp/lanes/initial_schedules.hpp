// First schedules: regular ones, from which a search goes on.
#pragma once

#include <vector>

#include "lanes/schedule.hpp"

namespace lw::lanes {

enum class PackOrder {
  kReady,  // cheap operations as soon as they can be computed, products when nothing else is left
  kLevel,  // by distance from the inputs
  kLate,   // by distance from the outputs
};

// Which operations share an instruction: as few instructions as the order gives.
std::vector<Pack> packs_of(const ScalarCircuit& circuit, PackOrder order);

enum class LaneOrder {
  kTrees,     // the leaves of one output after the other
  kPadded,    // the same, each output beginning at a multiple of a power of two
  kPositions  // the first leaf of every output, the second of every output...
};

// Lanes in which most operations lie beside their first operands, outputs alike.
// is_right  an operation with two computed operands lies where its right one does
void assign_lanes(const ScalarCircuit& circuit, LaneSchedule& schedule, LaneOrder order, bool is_right);

// Lanes of the inputs of grouped vectors, so that few different rotations bring them to their uses.
void place_inputs(const ScalarCircuit& circuit, LaneSchedule& schedule);

// Every operation an instruction of its own, all in lane 0.
LaneSchedule scalar_schedule(const ScalarCircuit& circuit);

}  // namespace lw::lanes
