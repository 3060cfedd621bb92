// A schedule: which scalar operations share a vector instruction, and in which lane each is computed.
#pragma once

#include <vector>

#include "lanes/circuit.hpp"

namespace lw::lanes {

// Operations of one kind that one vector instruction computes, each in a lane of its own.
struct Pack {
  Code code;
  std::vector<Number> nodes;
};

// Where one copy of an input lies.
struct Copy {
  Number node;
  Number vector;  // counts the vectors of a free group; 0 for the others
  Number lane;
};

// Packs are in an order in which every operand comes before its use. A copy is needed for every lane in which an input
// of a grouped vector lies; those of free and replicated groups are laid out where they are used (`place_copies`).
struct Schedule {
  std::vector<Pack> packs;
  std::vector<Number> lane;       // of every operation, and of every input of a grouped vector; else -1
  std::vector<bool> exchanged;    // whether a commutative operation reads its operands in the other order
};

}  // namespace lw::lanes
