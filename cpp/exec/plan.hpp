// The code of a compiled program: typed registers, structured blocks. A Plan
// that exists has been checked in full, so the executor trusts it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/opcodes.hpp"
#include "rlwe/keys.hpp"

namespace lw {

enum class TypeKind : char { kCipher = 'c', kDigits = 'd', kPlain = 'p', kKey = 'k', kIndex = 'i' };

/// Static type of a register. Fields that a kind does not have keep their defaults.
struct ValueType {
  TypeKind kind = TypeKind::kIndex;
  std::uint32_t slots = 0;
  Level level;
  double scale = 0;
  std::uint32_t degree = 0;
  Basis basis = Basis::kQ;
  SecretKind secret = SecretKind::kMain;
  std::uint32_t key = 0;    // place in Plan::keys
  std::uint32_t count = 1;  // of the array
  bool is_addend = false;   // a BFV plaintext in the form that is added, not the one that is multiplied by
  bool operator==(const ValueType&) const = default;
};
std::string to_string(const ValueType& type);

struct Operand {
  std::uint32_t reg;
  bool last_use;  // no path reads the register after this; the value may be moved out
};

struct Instruction {
  Opcode op;
  std::uint32_t loc;  // index into the plan's debug table
  std::vector<Operand> in;
  std::vector<std::uint32_t> out;
  std::vector<std::int64_t> imm;
  std::vector<std::uint32_t> release;  // computed: registers of this block that nothing reads after this instruction
};

struct Block {
  std::vector<std::uint32_t> args;
  std::vector<Instruction> code;  // ends in yield
};

/// A trip count that the caller gives: input number and its largest legal value.
struct TripLimit {
  std::uint32_t input;
  std::int64_t max_trip;
};

class Plan {
 public:
  /// Decodes and checks. Throws lw::Error(kFormat) naming block and instruction.
  Plan(std::shared_ptr<const Parameters> parameters, std::span<const std::uint8_t> code);

  const Parameters& parameters() const noexcept { return *parameters_; }
  const ValueType& type(std::uint32_t reg) const noexcept { return types_[register_types_[reg]]; }
  std::size_t num_registers() const noexcept { return register_types_.size(); }
  const std::vector<Block>& blocks() const noexcept { return blocks_; }
  const Block& body() const noexcept { return blocks_[0]; }
  const std::vector<KeySpec>& keys() const noexcept { return keys_; }
  std::uint32_t num_constants() const noexcept { return num_constants_; }
  const std::vector<TripLimit>& trip_limits() const noexcept { return trip_limits_; }

 private:
  std::shared_ptr<const Parameters> parameters_;
  std::vector<ValueType> types_;
  std::vector<std::uint32_t> register_types_;
  std::vector<Block> blocks_;
  std::vector<KeySpec> keys_;
  std::uint32_t num_constants_ = 0;
  std::vector<TripLimit> trip_limits_;
};

}  // namespace lw
