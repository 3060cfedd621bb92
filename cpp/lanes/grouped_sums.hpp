// Sums whose terms are of several kinds, such as x_i, y_i and x_i * y_i: terms that belong together are added first,
// which takes no rotation, and the rows that this gives are then added up once, instead of every kind by itself.
#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "lanes/circuit.hpp"

namespace lw::lanes {

// Part of a sum.
struct SumTerm {
  Number node;
  bool is_negative;
};

// Numbers for nodes, equal where operations are computed alike from inputs of the same groups; public numbers do not
// count. Nodes may be appended between calls.
class Kinds {
 public:
  Number of(const std::vector<Node>& nodes, Number node);

 private:
  std::vector<Number> kinds_;
  std::map<std::tuple<Code, Number, Number>, Number> numbers_;
};

// Makes a node.
using MakeNode = std::function<Number(Node)>;

// Terms fewer than these, whose sum is the same: where several kinds have several terms each, the most frequent kind
// is added up to as many sums as the next one has terms, and each of these goes to the sum that reads the same inputs.
// Terms as they are where there are no two such kinds.
std::vector<SumTerm> in_rows(const std::vector<SumTerm>& terms, const std::vector<Node>& nodes, Kinds& kinds,
                             const MakeNode& make);

}  // namespace lw::lanes
