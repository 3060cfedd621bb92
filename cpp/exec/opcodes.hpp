// The opcodes of plan code, by number, and what `opcodes.def` says of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace lw {

enum class Opcode : std::uint16_t {
#define LW_OPCODE(enumerator, name, in, out, imm, schemes) enumerator,
#include "exec/opcodes.def"
#undef LW_OPCODE
};

/// The schemes that have an instruction.
enum class Schemes : std::uint8_t { kBoth, kCkks, kBfv };

/// One line of the table; letters as there.
struct OpcodeInfo {
  const char* name;
  std::string_view in, out, imm;
  Schemes schemes;

  /// Whether the last kind of immediate may come any number of times.
  constexpr bool has_any_number() const noexcept { return imm.ends_with('*'); }
  /// The kind of immediate i, of those that it may have.
  constexpr char immediate_kind(std::size_t i) const noexcept {
    return has_any_number() ? imm[std::min(i, imm.size() - 2)] : imm[i];
  }
  /// The number of its immediates, the first ones, that are numbers of blocks that it runs.
  constexpr std::size_t num_blocks() const noexcept {
    return static_cast<std::size_t>(std::count(imm.begin(), imm.end(), 'b'));
  }
  /// Whether a kind is among those of the operands, or of the immediates.
  constexpr bool takes(char kind) const noexcept { return in.find(kind) != std::string_view::npos; }
  constexpr bool names(char kind) const noexcept { return imm.find(kind) != std::string_view::npos; }
};

inline constexpr OpcodeInfo kOpcodes[] = {
#define LW_OPCODE(enumerator, name, in, out, imm, schemes) {name, in, out, imm, Schemes::schemes},
#include "exec/opcodes.def"
#undef LW_OPCODE
};

constexpr const OpcodeInfo& info(Opcode op) noexcept { return kOpcodes[static_cast<std::size_t>(op)]; }

/// Whether this holds for every opcode.
template <class Holds>
constexpr bool for_all_opcodes(const Holds& holds) {
  for (std::size_t i = 0; i < std::size(kOpcodes); ++i) {
    if (!holds(static_cast<Opcode>(i))) return false;
  }
  return true;
}

}  // namespace lw
