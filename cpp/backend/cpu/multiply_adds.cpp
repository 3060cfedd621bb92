#include "backend/cpu/multiply_adds.hpp"

#include "backend/cpu/queue.hpp"

namespace lw {

std::uint64_t cpu_multiply_adds(Queue& queue, std::uint64_t steps) noexcept {
  double sums[24];
  for (std::size_t i = 0; i < 24; ++i) sums[i] = 1.0 / static_cast<double>(2 + i);
  return cpu::cpu_queue(queue).limb.multiply_adds(sums, steps);
}

}  // namespace lw
