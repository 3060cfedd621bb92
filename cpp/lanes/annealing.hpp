// The search of Coyote (Malik et al., ASPLOS 2023): quotients of the circuit by best-first search, each with lanes by
// simulated annealing.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "lanes/epoch_placement.hpp"
#include "lanes/schedule.hpp"

namespace lw::lanes {

struct AnnealOptions {
  enum class Contraction {
    kArc,    // one arc between lanes: the paper
    kClass,  // all arcs of one epoch that cross as many lanes: the public code
  };
  enum class Start { kEnumerated, kMatched };

  InstructionWeights weights{.rotate = 1, .mul = 1, .mul_constant = 1, .add_constant = 0.1, .add = 0.1, .neg = 0.1};
  int rounds = 150;                                       // quotients that are placed, besides the first
  double work = std::numeric_limits<double>::infinity();  // arcs looked at, after which no more are placed
  Cooling cooling;
  Contraction contraction = Contraction::kArc;
  Start start = Start::kEnumerated;
  std::uint64_t seed = 0;
};

struct AnnealTrace {
  std::vector<double> tried;  // cost of the first quotient, then of each round's
  std::vector<double> best;   // the least until then
  double work = 0;            // arcs looked at
  double cost = 0;            // of the result: rotations * weights.rotate + height
  Number rotations = 0;
  double height = 0;
  std::vector<Number> epoch;  // of every operation; -1 of inputs
  struct Load {
    Number input, epoch, lane;
  };
  std::vector<Load> loads;  // where inputs of packed vectors lie: replicated ones once for each place that reads them
};

/// The cheapest schedule found. The same for the same arguments, on any number of threads and runs.
/// `trace` may be null. Operands are in the order in which they are written (`exchanged` is false).
LaneSchedule anneal(const ScalarCircuit& circuit, const AnnealOptions& options, AnnealTrace* trace);

}  // namespace lw::lanes
