// The static checks behind Plan.
#pragma once

#include "exec/plan.hpp"

namespace lw {

/// A place in a plan's code, for messages.
struct Site {
  std::uint32_t block, instruction;
  const char* op;
  /// Throws lw::Error(kFormat) with `what` and this place.
  [[noreturn]] void fail(const std::string& what) const;
};

/// Types, levels, degrees, bases and scales of one instruction without blocks of its own. Kinds and
/// numbers of operands have been checked against the table.
void check_types(const Plan& plan, const Instruction& instruction, const Site& site);

/// Block structure, definitions before uses, last uses, types at the borders of blocks; check_types for everything
/// else. Fills in Instruction::release, and the limits of trip counts that are inputs.
void check_structure(const Plan& plan, std::vector<Block>& blocks, std::vector<TripLimit>& trip_limits);

}  // namespace lw
