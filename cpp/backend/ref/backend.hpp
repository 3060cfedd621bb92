// `ref`: 64-bit integer arithmetic on host memory, for any primes below 2^60.
// The definition of every kernel's result, and fast enough for small programs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/device.hpp"

namespace lw {

std::unique_ptr<Backend> make_ref_backend(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes,
                                          unsigned threads);

}  // namespace lw
