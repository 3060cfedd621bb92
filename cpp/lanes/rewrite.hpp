// Equal circuits that are easier to vectorise.
#pragma once

#include <vector>

#include "lanes/circuit.hpp"

namespace lw::lanes {

struct Rewritten {
  ScalarCircuit circuit;
  std::vector<Number> origin;  // of every node, the node of the first circuit that it is equal to, or -1
};

// How sums and products of many terms are put together.
enum class Association {
  kAsWritten,
  kTrees,  // left sides have as many terms as the largest power of two: terms that lie side by side are then added up
           // by rotations by 1, 2, 4..., which all such trees share
  kRows,   // trees as well, but of sums whose terms are of several kinds, first those that belong together
};

// Equal operations once, and what no output needs left out.
Rewritten rewritten(const ScalarCircuit& circuit, Association association);

// The same with every operation once for each use of it, so that each may lie where it is read: computing copies of it
// in other lanes of the same instructions is free where its inputs may lie there. No nodes if nothing has several uses,
// or if there would be more than `most` nodes.
Rewritten unshare(const Rewritten& shared, std::size_t most);

}  // namespace lw::lanes
