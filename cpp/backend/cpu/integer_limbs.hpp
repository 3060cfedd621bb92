// One limb of a polynomial that is kept as integers.
#pragma once

#include "backend/cpu/queue.hpp"
#include "backend/kernels.hpp"

namespace lw::cpu {

/// Writes the transform of integers modulo the prime of a limb to `to`: in half the work where they are mirrored.
void lift_limb(const CpuQueue& queue, Word* to, const IntegerView& in, std::uint16_t limb) noexcept;

/// Cycles that it takes, about.
inline std::size_t lift_cycles(const CpuQueue& queue, const IntegerView& in) noexcept {
  return queue.degree * queue.log_degree / (in.is_mirrored && queue.degree >= kMirroredDegree ? 4 : 2);
}

}  // namespace lw::cpu
