#include "exec/run_state.hpp"

namespace lw {
namespace {

/// Whether a register holds what files of ciphertexts do.
bool is_stored(const ValueType& type) {
  return type.kind == TypeKind::kCipher && type.basis == Basis::kQ && type.secret == SecretKind::kMain;
}

class ReadRegisters {
 public:
  explicit ReadRegisters(const Plan& plan) : plan_(plan), is_read_(plan.num_registers()) {}

  bool operator[](std::uint32_t reg) const { return is_read_[reg]; }
  /// Notes the registers that an instruction reads, and those that the blocks read that it runs.
  void note(const Instruction& instruction) {
    for (const Operand& operand : instruction.in) is_read_[operand.reg] = true;
    note_blocks(instruction);
  }
  /// Notes the registers that a loop reads between two iterations: its initial values have been taken by then.
  void note_loop(const Instruction& loop) {
    is_read_[loop.in[0].reg] = true;
    note_blocks(loop);
  }

 private:
  void note_blocks(const Instruction& instruction) {
    for (std::size_t i = 0; i < info(instruction.op).num_blocks(); ++i) {
      for (const Instruction& inner : plan_.blocks()[static_cast<std::size_t>(instruction.imm[i])].code) note(inner);
    }
  }

  const Plan& plan_;
  std::vector<bool> is_read_;
};

}  // namespace

std::optional<StateOutline> state_outline(const Plan& plan, std::size_t place) {
  const std::vector<Instruction>& code = plan.body().code;
  if (place >= code.size() || code[place].op != Opcode::kFor) return std::nullopt;
  StateOutline outline;
  const std::vector<std::uint32_t>& args = plan.blocks()[static_cast<std::size_t>(code[place].imm[0])].args;
  outline.carried.assign(args.begin() + 1, args.end());
  for (const std::uint32_t reg : outline.carried) {
    if (!is_stored(plan.type(reg))) return std::nullopt;
  }
  ReadRegisters read(plan);
  read.note_loop(code[place]);
  for (std::size_t i = place + 1; i < code.size(); ++i) read.note(code[i]);
  const ReadRegisters live = read;
  outline.is_repeated.resize(place);
  for (std::size_t i = place; i-- > 0;) {
    for (const std::uint32_t reg : code[i].out) {
      if (live[reg] && is_stored(plan.type(reg))) {
        outline.kept.push_back(reg);
      } else if (read[reg]) {
        outline.is_repeated[i] = true;
      }
    }
    if (outline.is_repeated[i]) read.note(code[i]);
  }
  return outline;
}

}  // namespace lw
