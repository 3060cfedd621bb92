// A schedule: which scalar operations share a vector instruction, and in which lane each is computed.
#pragma once

#include <vector>

#include "lanes/circuit.hpp"

namespace lw::lanes {

// Operations of one kind that one vector instruction computes, each in a lane of its own.
struct Pack {
  Code code;
  std::vector<Number> nodes;

  bool operator==(const Pack&) const = default;
};

// Packs are in an order in which every operand comes before its use. Inputs of free and replicated groups lie where
// they are used, so they have no lane here (`input_copies.hpp` lays them out).
struct LaneSchedule {
  std::vector<Pack> packs;
  std::vector<Number> lane;              // of every operation, and of every input of a grouped vector; else -1
  std::vector<unsigned char> exchanged;  // whether a commutative operation reads its operands in the other order

  bool operator==(const LaneSchedule&) const = default;
};

}  // namespace lw::lanes
