// Places the copies of free and replicated inputs: in the lanes of their uses, as far as those do not clash.
#pragma once

#include <map>
#include <vector>

#include "lanes/builder.hpp"

namespace lw::lanes {

// What one operand reads of one group.
struct GroupRead {
  Number group;
  std::vector<LaneEntry> entries;  // (lane, input node), lanes ascending
  std::vector<Number> cleared;     // lanes in which the operand wants other values
  Number vector = -1;              // set by `place_reads`: the vector of the group that it is read from,
  std::vector<Number> steps = {};  // and by how much that is rotated for each entry
};

using Lanes = std::map<Number, Number>;  // lane -> input node, or kAnything where another operand wants zero

// Place all reads; returns the vectors of every group. A free group gets as many vectors as it takes; the reads of
// a replicated one share a single vector, shifted against their uses where they would clash.
std::vector<std::vector<Lanes>> place_reads(const ScalarCircuit& circuit, std::vector<GroupRead>& reads);

}  // namespace lw::lanes
