// Key switches of a linear map by many widths of its baby steps: the counts that a search for the cheapest way asks
// for.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace lw::maps {

using Numbers = std::span<const std::int64_t>;

/// The diagonals of a map, a row each; steps are signed, in (-slots/2, slots/2], all others not negative.
struct Places {
  std::int64_t slots;
  Numbers conj, out, in, steps;
};

/// steps = giant + baby: a baby is the residue modulo the width, from 0 on, or around 0 if centred.
struct Split {
  std::int64_t width;
  bool centred;
};

/// The order in which giant steps are taken, as in values/packing/loop_nests/giant_order.py.
enum class GiantOrder : std::uint8_t { kOwn, kHorner, kAround };

struct SwitchCounts {
  std::int64_t hoists = 0;             // inputs that are decomposed
  std::int64_t babies = 0;             // of all inputs
  std::int64_t giants = 0;             // of all outputs
  std::array<std::int64_t, 3> keys{};  // different ones, by each of the orders that was asked for
};

struct Counted {
  std::int64_t products = 0, made = 0,
               read = 0;  // diagonals, outputs and inputs that have one, conjugates by themselves
  std::vector<SwitchCounts> splits;
};

/// iterated: baby steps are made one of the other. At most three orders.
Counted count_key_switches(const Places& where, std::span<const Split> splits, std::span<const GiantOrder> orders,
                           bool iterated);

}  // namespace lw::maps
