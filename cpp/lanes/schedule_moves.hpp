// Small changes of a schedule, each of which leaves it valid.
#pragma once

#include <vector>

#include "lanes/random.hpp"
#include "lanes/schedule.hpp"

namespace lw::lanes {

class Moves {
 public:
  explicit Moves(const ScalarCircuit& circuit);

  // Change `schedule` at random in one of several ways; false if the way that was drawn does not apply.
  bool change(LaneSchedule& schedule, Random& random) const;

 private:
  struct Arc {
    Number from, to;
  };

  bool move_column(LaneSchedule& schedule, Random& random) const;
  bool swap_lanes(LaneSchedule& schedule, Random& random) const;
  bool move_input(LaneSchedule& schedule, Random& random) const;
  bool exchange(LaneSchedule& schedule, Random& random) const;
  bool shift_pack(LaneSchedule& schedule, Random& random) const;
  bool change_pack(LaneSchedule& schedule, Random& random) const;
  Number aligned_lane(const LaneSchedule& schedule, Number node, Random& random) const;

  const ScalarCircuit& circuit_;
  std::vector<std::vector<Number>> users_;
  std::vector<Number> operations_, inputs_, commutative_;
  std::vector<Arc> arcs_;  // between nodes that have lanes
  std::vector<std::vector<Number>> neighbours_;
};

}  // namespace lw::lanes
