// The constants of the search for lanes that were tuned. No measurement of the time when they were set is kept. What
// each does was studied again on 2026-11-22: it was halved and doubled, the others as they are, at the same work, on
// the circuits of the Coyote paper and on random polynomials (bench/results/coyote-tuning-2026-11-22.json). To redo it:
//
//   latticework bench coyote --study tuning
//
// At the effort "fast" (1.5e6 lanes looked at, one seed, 21 circuits) no change is told from chance: geometric means of
// the price are 0.958 to 1.008 of what they are, and single circuits are 0.74 to 1.33 times as dear, where seeds alone
// make them 0.67 to 1.25 times as dear. starts_share, settled, most_rounds, hopeless, far and the limits change nothing
// there: they are for larger circuits, or for more work.
#pragma once

#include <cstddef>

namespace lw::lanes {

struct SearchTuning {
  // Of the work:
  double parts_share = 0.3;       // into repeated parts by themselves, where a circuit has several
  double starts_share = 0.3;      // at most into first schedules
  double estimates_share = 0.15;  // into quick annealing
  double quotients_share = 0.2;   // into the search over quotients
  double last_share = 0.3;        // of what is left then: the best one found is annealed again
  double arcs = 10;               // that are looked at in the time of one lane
  // How annealing goes on:
  std::size_t annealed = 3;  // of the best first schedules
  double hot = 1.2;          // temperatures, in rotations: annealing starts from these two in turn
  double warm = 0.35;
  double cold = 0.02;       // and ends here
  double settled = 3000;    // schedules of one annealing after which a small circuit gains nothing more
  double most_rounds = 24;  // of annealing
  double hopeless = 12;     // temperatures by which a schedule is dearer that will not be accepted
  double far = 3;           // first schedules that cost so many times the cheapest are of no use
  // Limits that keep large circuits within the work:
  std::size_t most_copies = 1000;     // operations of a circuit in which none is shared
  std::size_t most_quotiented = 512;  // nodes of a circuit for which the search over quotients is of use
};

}  // namespace lw::lanes
