// Chooses the registers and rotations that bring wanted values into their lanes.
#pragma once

#include <vector>

#include "lanes/builder.hpp"

namespace lw::lanes {

// A value that an operand must hold in a lane. `source`, if there is one, names the only register to take it from.
struct Want {
  Number lane, value;
  Number source = -1, steps = 0;
};

// One register, to be rotated by `steps`, that holds what is wanted in these lanes of the result (ascending).
struct Part {
  Number source, steps;
  std::vector<Number> lanes;
};

// Few parts that together hold everything, found greedily: of those that hold most, what needs no new rotation first.
std::vector<Part> cover(Builder& builder, const std::vector<Want>& wants);

// The same, taking values from one vector alone, which need not exist yet; empty if it does not hold all of them.
std::vector<Part> cover_from(Builder& builder, Number source, const Content& content, const std::vector<Want>& wants);

inline Number modulo(Number value, Number width) { return ((value % width) + width) & (width - 1); }

}  // namespace lw::lanes
