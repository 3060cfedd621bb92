// Plaintexts from integer coefficients, which are the same at every level.
#pragma once

#include <cstdint>
#include <span>

#include "ring/integers.hpp"
#include "rlwe/ciphertext.hpp"

namespace lw {

/// The polynomial with these coefficients at the multiples of N / size, over a level. They are wiped where they were
/// spread out; in memory of a device they would not be, so the context is one of the host.
Plaintext lift_integers(const Context& context, std::span<const std::int64_t> coefficients, Level level, double scale,
                        Basis basis);
/// The same of public ones that are where the context is. Reads and writes memory of its device alone.
Plaintext lift_integers(const Context& context, const Integers& coefficients, Level level, double scale, Basis basis);

}  // namespace lw
