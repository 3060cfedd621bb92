// Data movement: the register that holds wanted values in wanted lanes, by rotations, masks and additions.
#pragma once

#include <vector>

#include "lanes/rotation_cover.hpp"

namespace lw::lanes {

// What movement may use besides rotating each source and blending.
struct MovementOptions {
  bool spread = true;      // copies of copies: a vector added to itself rotated, as often as that saves rotations
  bool joined = true;      // sources that move by the same steps are merged before they are rotated
  bool zero_lanes = true;  // vectors that hold zero where the others are wanted are added without masks
};

// A register with every value in its lane; other lanes hold anything. The cheapest of the ways that apply.
Number moved(Builder& builder, const std::vector<Want>& wants, const MovementOptions& options);

}  // namespace lw::lanes
