// The records that the search for lanes takes from Python and gives back: circuits, schedules, prices, vector code.
#pragma once

#include <nanobind/nanobind.h>

#include "lanes/annealing.hpp"
#include "lanes/search.hpp"

namespace lw {

/// A schedule of Coyote's search, and how it was found.
struct AnnealedSchedule {
  lanes::LaneSchedule schedule;
  lanes::AnnealTrace trace;
};

void bind_lane_records(nanobind::module_& m);

}  // namespace lw
