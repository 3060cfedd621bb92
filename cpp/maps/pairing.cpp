#include "maps/pairing.hpp"

#include <cstddef>

namespace lw::maps {
namespace {

std::vector<std::uint8_t> held_of(std::span<const std::int64_t> steps, std::int64_t slots) {
  std::vector<std::uint8_t> held(static_cast<std::size_t>(slots), 0);
  for (const std::int64_t step : steps) held[static_cast<std::size_t>(step)] = 1;
  return held;
}

}  // namespace

std::vector<std::int64_t> count_partners(std::span<const std::int64_t> steps, std::int64_t slots,
                                         std::span<const std::int64_t> distances) {
  std::vector<std::uint8_t> twice = held_of(steps, slots);  // around once more, so that nothing is taken modulo
  twice.insert(twice.end(), twice.begin(), twice.begin() + static_cast<std::ptrdiff_t>(slots));
  std::vector<std::int64_t> found;
  found.reserve(distances.size());
  for (const std::int64_t apart : distances) {
    const std::uint8_t* ahead = twice.data() + apart;
    std::int64_t count = 0;
    for (const std::int64_t step : steps) count += ahead[step];
    found.push_back(count);
  }
  return found;
}

std::vector<std::pair<std::int64_t, std::int64_t>> pair_along(std::span<const std::int64_t> steps, std::int64_t slots,
                                                              std::int64_t apart) {
  std::vector<std::uint8_t> held = held_of(steps, slots);
  const auto is_held = [&](std::int64_t step) -> std::uint8_t& { return held[static_cast<std::size_t>(step)]; };
  const auto next = [&](std::int64_t step) { return step + apart < slots ? step + apart : step + apart - slots; };
  std::vector<std::int64_t> starts;
  for (const std::int64_t step : steps) {
    if (is_held(step < apart ? step - apart + slots : step - apart) == 0) starts.push_back(step);
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  pairs.reserve(steps.size());
  std::size_t least = 0;  // all steps before it are gone
  std::size_t left = steps.size();
  while (left > 0) {
    std::int64_t step = 0;
    if (!starts.empty()) {
      step = starts.back();
      starts.pop_back();
    } else {
      while (is_held(steps[least]) == 0) ++least;
      step = steps[least];
    }
    while (is_held(step) != 0) {
      is_held(step) = 0;
      const std::int64_t second = next(step);
      const bool both = is_held(second) != 0;
      is_held(second) = 0;
      left -= both ? 2 : 1;
      pairs.emplace_back(step, both ? 3 : 1);
      step = next(second);
    }
  }
  return pairs;
}

}  // namespace lw::maps
