// The order of the operations inside an epoch: which of them share a vector instruction.
#pragma once

#include <vector>

#include "lanes/schedule.hpp"

namespace lw::lanes {

/// Packs of the operations by list scheduling. Each pack holds operations of one code, at most one a lane, and comes
/// after the packs of its operands and after all packs of earlier epochs. The next pack is that of the code with the
/// most lanes ready; a lane gives the operation with the longest path behind it in the epoch.
/// `epoch` and `lane` of every node; -1 and unused for inputs. O(nodes * packs of an epoch).
std::vector<Pack> list_schedule(const ScalarCircuit& circuit, const std::vector<Number>& epoch,
                                const std::vector<Number>& lane);

}  // namespace lw::lanes
