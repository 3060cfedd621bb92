// Equal circuits that are easier to vectorise.
#pragma once

#include <vector>

#include "lanes/circuit.hpp"

namespace lw::lanes {

struct Rewritten {
  Circuit circuit;
  std::vector<Number> origin;  // of every node, the node of the first circuit that it is equal to, or -1
};

// Equal operations once, and what no output needs left out. With `reassociate`, sums and products of many terms become
// trees whose left sides have as many terms as the largest power of two: terms that lie side by side are then added up
// by rotations by 1, 2, 4..., which all such trees share.
Rewritten rewritten(const Circuit& circuit, bool reassociate);

}  // namespace lw::lanes
