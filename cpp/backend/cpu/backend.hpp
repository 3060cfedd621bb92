// `cpu`: float64 arithmetic with fused multiply-adds on vectors, for primes below 2^50. Residues at rest are integers
// held as doubles, |x| <= 11/16 q (see prime.hpp).
//
// It goes by more names: `cpu-avx512`, `cpu-avx2` and `cpu-neon` are that with one instruction set, for tests and
// measurements, and `cpu` is the first of them that this machine has. All give the same residues.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/device.hpp"

namespace lw {

/// Whether this machine, and its operating system, have the instructions that the backend of this name is built for.
bool cpu_backend_runs_here(std::string_view name) noexcept;
/// Whether `cpu` can work with all of these primes.
bool cpu_backend_takes(const std::vector<std::uint64_t>& primes) noexcept;

/// name: one of the above, of static storage. Throws lw::Error(kValue) where either of the above does not hold.
std::unique_ptr<Backend> make_cpu_backend(std::string_view name, std::uint32_t ring_degree,
                                          const std::vector<std::uint64_t>& primes, unsigned threads);

}  // namespace lw
