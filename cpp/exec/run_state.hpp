// The state of a run between two iterations of a loop of the body, from which another run goes on.
//
// A state holds what cannot be made again quickly: what the loop carries, and the ciphertexts that were computed before
// it and are read in it or after it. The rest (integers, keys, plaintexts, digits, ciphertexts that no file holds) is
// made again, by the instructions before the loop that lead to it; every other one is passed over.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "exec/plan.hpp"

namespace lw {

/// The contents of a cipher register.
using Ciphertexts = std::vector<Ciphertext>;

/// A run between two iterations of a loop of the body.
struct RunState {
  std::uint32_t loop = 0;                          // instruction of the body
  std::int64_t iterations = 0;                     // that are done
  std::int64_t of = 0;                             // so many
  std::map<std::uint32_t, Ciphertexts> registers;  // by argument of the loop's block, and by register of the body
};

/// The registers that a state between iterations of one loop has to hold, and the work to go on from it.
struct StateOutline {
  std::vector<std::uint32_t> carried;  // arguments of the loop's block, the number of the iteration left out
  std::vector<std::uint32_t> kept;     // registers of the body
  std::vector<bool> is_repeated;       // of the instructions before the loop
};

/// The outline of a state in the loop at instruction `place` of the body; nullopt for another instruction, and for a
/// loop that carries values of a type that no file holds.
std::optional<StateOutline> state_outline(const Plan& plan, std::size_t place);

}  // namespace lw
