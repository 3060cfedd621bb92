// The number of limbs that go through several kernels together: as many as have their limbs between these kernels in
// the cache of the device, while keys, operands and results stream past.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "backend/gpu/launch.hpp"

namespace lw::gpu {

/// The share of the cache that the limbs between kernels may fill: all of it. On an H100 that is faster than half of
/// it: what streams through drives some of them out, but fewer and larger launches leave fewer multiprocessors idle at
/// their ends.
inline constexpr std::size_t kCacheShare = 1;

inline std::size_t num_processors(const GpuQueue& queue) noexcept {
  return std::max<std::size_t>(1, queue.card().info().multiprocessors);
}

/// The batch size in limbs, from 1 to `limbs`: each limb has `limbs_of_one` limbs of intermediate data between kernels,
/// and all of those together fit into 1 / `share` of the cache.
inline std::size_t limbs_at_once(const GpuQueue& queue, std::size_t limbs_of_one, std::size_t share,
                                 std::size_t limbs) noexcept {
  const std::size_t bytes = std::max<std::size_t>(1, limbs_of_one * degree_of(queue) * sizeof(Word));
  return std::clamp<std::size_t>(queue.cache_bytes() / share / bytes, 1, std::max<std::size_t>(1, limbs));
}

/// A window in batches, as even as they can be.
inline std::vector<LimbWindow> batches_of(LimbWindow window, std::size_t at_once) {
  std::vector<LimbWindow> batches((window.count + at_once - 1) / at_once);
  const std::size_t end = window.first + window.count;
  std::size_t first = window.first, left = batches.size();
  for (LimbWindow& batch : batches) {
    batch = {first, (end - first + left - 1) / left};
    first += batch.count;
    --left;
  }
  return batches;
}

}  // namespace lw::gpu
