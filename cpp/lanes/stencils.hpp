// First schedules for circuits that do alike at many places of an input, such as filters of images.
#pragma once

#include "lanes/schedule.hpp"

namespace lw::lanes {

// Inputs lie in the order of their nodes, each operation in the lowest lane of the largest packed input that it reads.
// Operations whose operands are alike and lie equally far away share an instruction, so that every different distance
// is one rotation. No packs if some operation reads no packed input,
// or if nearly all are different.
LaneSchedule stencil_schedule(const ScalarCircuit& circuit);

}  // namespace lw::lanes
