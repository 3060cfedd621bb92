// Arithmetic on public integers. It wraps around modulo 2^64, so that it has no undefined case.
#pragma once

#include <algorithm>
#include <cstdint>

#include "exec/plan.hpp"

namespace lw {

/// The result of an instruction on integers, of which value(operand) are the operands.
template <class Value>
std::int64_t index_value(const Instruction& instruction, const Value& value) {
  if (instruction.op == Opcode::kIconst) return instruction.imm[0];
  const std::int64_t a = value(instruction.in[0]);
  if (instruction.op == Opcode::kIdiv) return a / instruction.imm[0] - (a % instruction.imm[0] < 0 ? 1 : 0);
  const std::int64_t b = value(instruction.in[1]);
  const std::uint64_t x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (instruction.op) {
    case Opcode::kIadd:
      return static_cast<std::int64_t>(x + y);
    case Opcode::kIsub:
      return static_cast<std::int64_t>(x - y);
    case Opcode::kImul:
      return static_cast<std::int64_t>(x * y);
    case Opcode::kImin:
      return std::min(a, b);
    default:
      return a < b ? 1 : 0;
  }
}

}  // namespace lw
