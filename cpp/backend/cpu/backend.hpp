// `cpu`: float64 arithmetic with fused multiply-adds on vectors, for primes below 2^50. Residues at rest are integers
// held as doubles, |x| <= 11/16 q (see prime.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/device.hpp"

namespace lw {

/// Whether this machine has an instruction set that `cpu` is built for.
bool cpu_backend_runs_here() noexcept;
/// Whether `cpu` can work with all of these primes.
bool cpu_backend_takes(const std::vector<std::uint64_t>& primes) noexcept;

/// Throws lw::Error(kValue) where either of the above does not hold.
std::unique_ptr<Backend> make_cpu_backend(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes,
                                          unsigned threads);

}  // namespace lw
