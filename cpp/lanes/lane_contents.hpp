// The contents of the lanes of a vector, as far as they are known.
#pragma once

#include <unordered_map>
#include <vector>

#include "lanes/circuit.hpp"

namespace lw::lanes {

inline constexpr Number kAnything = -2;

struct Held {
  Number lane, value;  // value: a node of the circuit, or kAnything
};

using Content = std::vector<Held>;  // lanes ascending; those that are not listed hold zero

// Which node of a circuit an operation on two nodes is, if it is one.
class Values {
 public:
  explicit Values(const ScalarCircuit& circuit);
  Number find(Code code, Number left, Number right) const;
  // The first node that computes the same as this one: what contents name.
  Number first(Number node) const { return node < 0 ? node : first_[node]; }

 private:
  std::unordered_map<std::uint64_t, Number> numbers_;
  std::vector<Number> first_;
};

Content rotate_content(const Content& content, Number steps, Number width);
// The lanes of `content` that `lanes` (ascending) names.
Content keep_lanes(const Content& content, const std::vector<Number>& lanes);
Content combine_contents(Code code, const Content& left, const Content& right, const Values& values);
Content with_constants(Code code, const Content& content, const std::vector<std::pair<Number, Number>>& table,
                       const Values& values);

}  // namespace lw::lanes
