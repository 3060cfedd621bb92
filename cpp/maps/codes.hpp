// Sets of moves of a loop nest, and which copy of an input each move reads.
//
// A move is a code: a number of a pair of vectors times the slots of a vector (a power of two), plus the steps from the
// place that is added to, to the place that is read. In the sum of two moves pairs add up, and steps modulo the slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lw::maps {

using Codes = std::span<const std::int64_t>;

/// The different sums of a move of each, ascending.
std::vector<std::int64_t> sum_codes(Codes a, Codes b, std::int64_t slots);

/// Settles which copy of the input is rotated: of each sum of a total and a row of moves, one for each copy, the code
/// of the copy with the fewest steps; of several the one of the lowest pair. Returns the distinct ones, ascending.
///
/// rows     `copies` to a row
/// nearest  for each number of steps the fewest that reach one of the copies that do not depend on elements
/// spread   outputs, slots / spread apart, of which the one with the fewest steps is added to, of several the lowest
/// pairs    how many there are
std::vector<std::int64_t> settle_codes(Codes totals, Codes rows, std::int64_t copies, Codes nearest,
                                       std::int64_t spread, std::int64_t pairs);

}  // namespace lw::maps
