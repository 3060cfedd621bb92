// Quotients of a circuit: connected operations that are computed in one lane, one after the other.
#pragma once

#include <utility>
#include <vector>

#include "lanes/circuit.hpp"

namespace lw::lanes {

// A partition of the operations into vertices, of which the graph of data flow has no cycle. Vertices are numbered in
// the order of their first operations, so equal partitions are equal vectors.
struct Quotient {
  std::vector<Number> vertex;  // of every operation; -1 of inputs
  Number num_vertices = 0;

  bool operator==(const Quotient&) const = default;
};

/// Every operation a vertex of its own.
Quotient singletons(const ScalarCircuit& circuit);

/// Each pair of vertices becomes one, and so does each cycle that comes of it. O(nodes).
Quotient contract(const ScalarCircuit& circuit, const Quotient& quotient,
                  const std::vector<std::pair<Number, Number>>& pairs);

/// The operations that a node reads, inputs included; of one operand the second is -1.
inline std::pair<Number, Number> operands(const Node& node) {
  return {node.left, is_binary(node.code) ? node.right : -1};
}

}  // namespace lw::lanes
