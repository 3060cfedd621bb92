// A scalar circuit: what the search for schedules and lanes is given.
#pragma once

#include <cstdint>
#include <vector>

namespace lw::lanes {

using Number = std::int32_t;  // of a node, a group, a constant, a lane; -1: none

enum class Code : std::uint8_t {
  kInput,        // an encrypted input
  kAdd,          // left + right
  kSub,          // left - right
  kMul,          // left * right
  kNeg,          // -left
  kAddConstant,  // left + constant number `right`
  kMulConstant,  // left * constant number `right`
};
inline constexpr int kNumCodes = 7;

inline bool is_binary(Code code) { return code == Code::kAdd || code == Code::kSub || code == Code::kMul; }
inline bool is_commutative(Code code) { return code == Code::kAdd || code == Code::kMul; }

struct Node {
  Code code;
  Number left = -1;   // node; of inputs -1
  Number right = -1;  // node, or constant number
  Number group = -1;  // of inputs: the group it belongs to

  bool operator==(const Node&) const = default;
};

// How the elements of an input group reach the server.
enum class Packing : std::uint8_t {
  kFree,        // scalars: any number of vectors, any lanes, any number of copies
  kGrouped,     // one vector, every element once
  kReplicated,  // one vector, every element at as many lanes as wanted
};

struct Group {
  Packing packing;
  std::vector<Number> fixed;  // empty, or the lane of each of its inputs, in the order of their nodes

  bool operator==(const Group&) const = default;
};

// Nodes are in topological order: operands have smaller numbers.
struct ScalarCircuit {
  std::vector<Node> nodes;
  std::vector<Group> groups;
  std::vector<Number> outputs;
  Number width;  // slots of a vector, a power of two; lanes and rotations count modulo it

  bool operator==(const ScalarCircuit&) const = default;
};

/// Tells whether a node computes something: inputs do not.
inline bool is_operation(const ScalarCircuit& circuit, Number node) { return circuit.nodes[node].code != Code::kInput; }

// The price of one vector instruction of each kind, in any unit.
struct InstructionWeights {
  double rotate, mul, mul_constant, add_constant, add, neg;
  double level = 0;  // the part by which every instruction becomes dearer for one more product in a row, masks included

  // Of an instruction that computes operations of one kind.
  double of(Code code) const {
    switch (code) {
      case Code::kInput:
        return 0;
      case Code::kMul:
        return mul;
      case Code::kMulConstant:
        return mul_constant;
      case Code::kAddConstant:
        return add_constant;
      case Code::kNeg:
        return neg;
      default:
        return add;
    }
  }
};

}  // namespace lw::lanes
