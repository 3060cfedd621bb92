// The epochs of a quotient: what may share vector instructions, and which data goes from where to where.
#pragma once

#include <utility>
#include <vector>

#include "lanes/quotient.hpp"

namespace lw::lanes {

// A place at which an input of a packed vector is loaded. Inputs of grouped vectors have one; those of replicated
// vectors have one for each vertex that reads them, or one if the width does not hold so many. Inputs of free groups
// lie wherever they are read and have none.
struct Gate {
  Number input;
  Number lane = -1;  // where the layout is fixed
};

// Places are the gates and, after them, the vertices of the quotient. An epoch holds at most `width` places: the gates
// of one input vector, or vertices of one height (later where an epoch is full).
struct Epochs {
  std::vector<Gate> gates;
  std::vector<Number> epoch;                    // of every place
  std::vector<std::vector<Number>> members;     // places of each epoch
  std::vector<bool> is_fixed;                   // epochs whose lanes are given
  std::vector<std::pair<Number, Number>> arcs;  // distinct (place that is read, place that reads)
  Number num_columns = 0;                       // lanes in use: the places of the largest epoch, and fixed lanes
  double height = 0;                            // for each epoch and code, the most operations in one place; weighted

  Number num_gates() const { return static_cast<Number>(gates.size()); }
};

/// Throws lw::Error(kValue) if the gates of a vector do not fit into the width.
Epochs find_epochs(const ScalarCircuit& circuit, const Quotient& quotient, const InstructionWeights& weights);

}  // namespace lw::lanes
