// Best-first search over quotients.
#pragma once

#include "lanes/annealing.hpp"

namespace lw::lanes {

// A quotient with lanes.
struct PlacedQuotient {
  Quotient quotient;
  Epochs epochs;
  std::vector<Number> lane;  // of every place
  Number rotations;
  double cost;
  std::vector<std::vector<std::pair<Number, Number>>> untried;  // sets of vertices to contract
};

/// The cheapest of `options.rounds` + 1 candidates: the circuit itself, then each time the cheapest candidate known
/// with one more contraction, chosen at random, that leads to a quotient not seen before.
/// Appends the costs to `trace`.
PlacedQuotient best_quotient(const ScalarCircuit& circuit, const AnnealOptions& options, AnnealTrace& trace);

}  // namespace lw::lanes
