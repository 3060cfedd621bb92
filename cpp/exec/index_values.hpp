// Arithmetic on public integers. It wraps around modulo 2^64, so that it has no undefined case.
#pragma once

#include <algorithm>
#include <cstdint>

#include "exec/plan.hpp"

namespace lw {

using IndexFunction = std::int64_t (*)(std::int64_t a, std::int64_t b);

/// The value of an integer instruction from two integers, the first of its operands and then of its immediates; nullptr
/// for one that makes no integer.
constexpr IndexFunction index_function(Opcode op) noexcept {
  using Int = std::int64_t;
  using Bits = std::uint64_t;
  switch (op) {
    case Opcode::kIconst:
      return [](Int a, Int) { return a; };
    case Opcode::kIadd:
      return [](Int a, Int b) { return static_cast<Int>(static_cast<Bits>(a) + static_cast<Bits>(b)); };
    case Opcode::kIsub:
      return [](Int a, Int b) { return static_cast<Int>(static_cast<Bits>(a) - static_cast<Bits>(b)); };
    case Opcode::kImul:
      return [](Int a, Int b) { return static_cast<Int>(static_cast<Bits>(a) * static_cast<Bits>(b)); };
    case Opcode::kImin:
      return [](Int a, Int b) { return std::min(a, b); };
    case Opcode::kIlt:
      return [](Int a, Int b) -> Int { return a < b ? 1 : 0; };
    case Opcode::kIdiv:
      return [](Int a, Int b) { return a / b - (a % b < 0 ? 1 : 0); };
    default:
      return nullptr;
  }
}
/// Whether all results of an instruction are integers.
constexpr bool makes_index(Opcode op) noexcept { return info(op).out == "i"; }
static_assert(for_all_opcodes([](Opcode op) {
                return makes_index(op) == (index_function(op) != nullptr) &&
                       (!makes_index(op) || info(op).in.size() + info(op).imm.size() <= 2);
              }),
              "every opcode that makes an integer says here how, of two integers at most");

/// The result of an instruction on integers, of which value(operand) are the operands.
template <class Value>
std::int64_t index_value(const Instruction& instruction, const Value& value) {
  std::int64_t given[2] = {};
  std::size_t count = 0;
  for (const Operand& operand : instruction.in) given[count++] = value(operand);
  for (const std::int64_t number : instruction.imm) given[count++] = number;
  return index_function(instruction.op)(given[0], given[1]);
}

}  // namespace lw
