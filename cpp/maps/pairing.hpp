// Diagonals that are so many steps apart: two of them can be one product, in both halves of complex slots.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lw::maps {

/// Counts, for each of `distances`, the steps that have a partner that distance further around. `steps` are distinct
/// and in [0, slots).
std::vector<std::int64_t> count_partners(std::span<const std::int64_t> steps, std::int64_t slots,
                                         std::span<const std::int64_t> distances);

/// Steps, distinct, ascending and in [0, slots), paired along chains of steps so far apart, each chain from its
/// beginning, and a circle from its least: (first, 3), or (single, 1) where a chain ends. The last chains come first.
std::vector<std::pair<std::int64_t, std::int64_t>> pair_along(std::span<const std::int64_t> steps, std::int64_t slots,
                                                              std::int64_t apart);

}  // namespace lw::maps
