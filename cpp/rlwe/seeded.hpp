// Public uniform polynomials from their seeds: the same when made and when loaded.
#pragma once

#include <span>

#include "ring/uniform.hpp"
#include "rlwe/ciphertext.hpp"

namespace lw {

/// The name of a uniform polynomial; the seed must outlive it.
UniformStream uniform_stream(StreamDomain domain, const SeedRef& seed, std::uint32_t digit = 0) noexcept;

/// Fills one poly's limbs with the uniform polynomial of (seed, domain, digit).
void expand_uniform(const Ring& ring, LimbView out, StreamDomain domain, const SeedRef& seed, std::uint32_t digit = 0);

/// The a halves of an evaluation key, one poly per digit number.
RnsPolys expand_key(const Ring& ring, const LimbList& limbs, std::span<const std::uint32_t> digits,
                    const SeedRef& seed);

}  // namespace lw
