// Vector code: what a schedule becomes, and what it costs.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "lanes/circuit.hpp"

namespace lw::lanes {

enum class VectorCode : std::uint8_t { kInput, kRotate, kAdd, kSub, kMul, kNeg, kAddConstant, kMulConstant };
inline constexpr int kNumVectorCodes = 8;

inline constexpr Number kOne = -2;  // the constant 1 of a mask

// A lane, and what lies there: an input node (of kInput), or a constant number (of k...Constant; other lanes hold 0).
using LaneEntry = std::pair<Number, Number>;

struct VectorInstruction {
  VectorCode code;
  Number left = -1;                   // register = number of the instruction that made it; of kInput: the group
  Number right = -1;                  // register; of kInput: which vector of the group
  Number steps = 0;                   // of kRotate: left rotation, result[lane] = operand[lane + steps]
  std::vector<LaneEntry> table = {};  // of kInput and k...Constant, lanes ascending
  std::vector<LaneEntry> computes =
      {};                // lanes that hold a scalar operation's result (lane, node); other lanes hold anything
  Number stage = -1;     // number of the pack that it computes or prepares an operand of
  bool is_mask = false;  // a kMulConstant that only clears lanes

  bool operator==(const VectorInstruction&) const = default;
};

struct Output {
  Number instruction, lane;

  bool operator==(const Output&) const = default;
};

struct InstructionCounts {
  Number rotations = 0, blends = 0, masks = 0, muls = 0, mul_constants = 0, adds = 0, add_constants = 0, negs = 0,
         inputs = 0;

  bool operator==(const InstructionCounts&) const = default;
};

struct VectorProgram {
  std::vector<VectorInstruction> code;
  std::vector<Output> outputs;  // one for each output of the circuit
  InstructionCounts counts;
  Number depth = 0;  // products in a row, by constants and masks too
  double cost = 0;   // with what its depth adds

  bool operator==(const VectorProgram&) const = default;
};

}  // namespace lw::lanes
