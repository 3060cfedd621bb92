// The rate of a processor's multiply-adds, by which products of matrices are measured.
#pragma once

#include <cstdint>

#include "backend/device.hpp"

namespace lw {

/// Fused multiply-adds of float64 on the calling thread, in so many steps of independent chains, by the vectors of a
/// queue of `cpu`. Returns how many.
std::uint64_t cpu_multiply_adds(Queue& queue, std::uint64_t steps) noexcept;

}  // namespace lw
