// The state of a run from which another run goes on: between two instructions of the body, or between two iterations of
// one of its loops.
//
// A state holds what cannot be made again quickly: what the loop carries, and the ciphertexts that were computed before
// and are read after it. The rest (integers, keys, plaintexts, and in loops digits and ciphertexts that no file holds
// too) is made again, by the instructions before it that lead to it; every other one is passed over.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "exec/plan.hpp"

namespace lw {

/// The contents of a cipher register.
using Ciphertexts = std::vector<Ciphertext>;

/// A run before an instruction of the body, or between two iterations of a loop of it.
struct RunState {
  std::uint32_t place = 0;                         // instruction of the body
  std::int64_t iterations = 0;                     // of it that are done, where it is under way; else 0
  std::int64_t of = 0;                             // so many; else 0
  std::map<std::uint32_t, Ciphertexts> registers;  // by argument of the loop's block, and by register of the body
};

/// The registers that a state has to hold, and the work to go on from it.
struct StateOutline {
  std::vector<std::uint32_t> carried;  // arguments of the loop's block, the number of the iteration left out
  std::vector<std::uint32_t> kept;     // registers of the body
  std::vector<bool> is_repeated;       // of the instructions before the place
};

/// The outline of a state between iterations of the loop at instruction `place` of the body; nullopt for another
/// instruction, and for a loop that carries values of a type that no file holds.
std::optional<StateOutline> loop_outline(const Plan& plan, std::size_t place);
/// The outline of a state before instruction `place` of the body, some of which are done; nullopt where none is
/// held, and where something live would take work on ciphertexts to make again.
std::optional<StateOutline> place_outline(const Plan& plan, std::size_t place);
/// The outline of a state that may be of another plan.
std::optional<StateOutline> outline_of(const Plan& plan, const RunState& state);

/// By instruction of the body: whether a run tells its state before it. These are some hundred at most: of each stretch
/// of the body where the least has to be held. is_form: of registers whose values are not computed yet.
std::vector<bool> told_places(const Plan& plan, const std::vector<bool>& is_form);

}  // namespace lw
