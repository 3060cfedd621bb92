#include "exec/run_state.hpp"

#include <algorithm>

namespace lw {
namespace {

constexpr std::size_t kMostPlaces = 256;  // where a run tells its state

/// Whether a register holds what files of ciphertexts do.
bool is_stored(const ValueType& type) {
  return type.kind == TypeKind::kCipher && type.basis == Basis::kQ && type.secret == SecretKind::kMain;
}

class ReadRegisters {
 public:
  explicit ReadRegisters(const Plan& plan) : plan_(plan), is_read_(plan.num_registers()) {}

  bool operator[](std::uint32_t reg) const { return is_read_[reg]; }
  /// Notes the registers that an instruction reads, and those that the blocks read that it runs; visit(reg) for those
  /// that are new.
  template <class Visit>
  void note(const Instruction& instruction, const Visit& visit) {
    for (const Operand& operand : instruction.in) note(operand.reg, visit);
    note_blocks(instruction, visit);
  }
  void note(const Instruction& instruction) {
    note(instruction, [](std::uint32_t) {});
  }
  /// Notes the registers that a loop reads between two iterations: its initial values have been taken by then.
  void note_loop(const Instruction& loop) {
    const auto pass = [](std::uint32_t) {};
    note(loop.in[0].reg, pass);
    note_blocks(loop, pass);
  }

 private:
  template <class Visit>
  void note(std::uint32_t reg, const Visit& visit) {
    if (is_read_[reg]) return;
    is_read_[reg] = true;
    visit(reg);
  }
  template <class Visit>
  void note_blocks(const Instruction& instruction, const Visit& visit) {
    for (std::size_t i = 0; i < info(instruction.op).num_blocks(); ++i) {
      for (const Instruction& inner : plan_.blocks()[static_cast<std::size_t>(instruction.imm[i])].code) {
        note(inner, visit);
      }
    }
  }

  const Plan& plan_;
  std::vector<bool> is_read_;
};

/// By register of the body: whether it is made of constants, keys and integers alone, by instructions without blocks.
std::vector<bool> made_quickly(const Plan& plan) {
  std::vector<bool> found(plan.num_registers());
  for (const std::uint32_t arg : plan.body().args) found[arg] = plan.type(arg).kind == TypeKind::kIndex;
  for (const Instruction& instruction : plan.body().code) {
    const bool is_quick = info(instruction.op).num_blocks() == 0 &&
                          std::ranges::all_of(instruction.in, [&](const Operand& o) { return found[o.reg]; });
    for (const std::uint32_t reg : instruction.out) found[reg] = is_quick && !is_stored(plan.type(reg));
  }
  return found;
}

/// Completes an outline by what is done again before `place`, of which `read` is read from there on.
void outline_before(const Plan& plan, std::size_t place, ReadRegisters read, StateOutline& outline) {
  const std::vector<Instruction>& code = plan.body().code;
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
}

}  // namespace

std::optional<StateOutline> loop_outline(const Plan& plan, std::size_t place) {
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
  outline_before(plan, place, std::move(read), outline);
  return outline;
}

std::optional<StateOutline> place_outline(const Plan& plan, std::size_t place) {
  const std::vector<Instruction>& code = plan.body().code;
  if (place == 0 || place >= code.size()) return std::nullopt;
  ReadRegisters read(plan);
  for (std::size_t i = place; i < code.size(); ++i) read.note(code[i]);
  const std::vector<bool> is_quick = made_quickly(plan);
  for (std::size_t i = 0; i < place; ++i) {
    for (const std::uint32_t reg : code[i].out) {
      if (read[reg] && !is_stored(plan.type(reg)) && !is_quick[reg]) return std::nullopt;
    }
  }
  StateOutline outline;
  outline_before(plan, place, std::move(read), outline);
  return outline.kept.empty() ? std::nullopt : std::optional(std::move(outline));
}

std::optional<StateOutline> outline_of(const Plan& plan, const RunState& state) {
  return state.iterations == 0 ? place_outline(plan, state.place) : loop_outline(plan, state.place);
}

std::vector<bool> told_places(const Plan& plan, const std::vector<bool>& is_form) {
  const std::vector<Instruction>& code = plan.body().code;
  const std::vector<bool> is_quick = made_quickly(plan);
  std::vector<std::uint64_t> words(code.size());  // to hold before each instruction
  std::vector<bool> is_possible(code.size());
  ReadRegisters read(plan);
  std::vector<bool> is_of_body(plan.num_registers());
  for (const Instruction& instruction : code) {
    for (const std::uint32_t reg : instruction.out) is_of_body[reg] = true;
  }
  const auto is_held = [&](std::uint32_t reg) { return is_stored(plan.type(reg)) && !is_form[reg]; };
  const auto size = [&](std::uint32_t reg) {
    const ValueType& type = plan.type(reg);
    return std::uint64_t{type.count} * (type.degree + 1) * plan.parameters().basis(type.level).size();
  };
  std::uint64_t held = 0, missing = 0;  // of what is live: words of what a state holds; registers that it cannot hold
  for (std::size_t i = code.size(); i-- > 1;) {
    for (const std::uint32_t reg : code[i].out) {
      if (!read[reg]) continue;
      if (is_held(reg)) {
        held -= size(reg);
      } else if (!is_quick[reg]) {
        --missing;
      }
    }
    read.note(code[i], [&](std::uint32_t reg) {
      if (!is_of_body[reg]) return;
      if (is_held(reg)) {
        held += size(reg);
      } else if (!is_quick[reg]) {
        ++missing;
      }
    });
    words[i] = held;
    is_possible[i] = held > 0 && missing == 0;
  }
  std::vector<bool> found(code.size());
  const std::size_t stretch = (code.size() + kMostPlaces - 1) / kMostPlaces;
  for (std::size_t first = 1; first < code.size(); first += stretch) {
    std::size_t best = 0;
    for (std::size_t i = first; i < std::min(first + stretch, code.size()); ++i) {
      if (is_possible[i] && (best == 0 || words[i] <= words[best])) best = i;
    }
    if (best > 0) found[best] = true;
  }
  return found;
}

}  // namespace lw
