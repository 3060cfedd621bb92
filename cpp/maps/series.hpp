// Chebyshev series of many numbers, whose coefficients may differ from channel to channel.
#pragma once

#include <cstddef>

namespace lw::maps {

/// Chebyshev series for numbers in `runs` times `channels` rows of `elements`: for each channel a series of `terms`
/// terms.
///
/// coefficients  (terms, channels), lowest degree first
struct ChannelSeries {
  std::size_t runs, channels, elements;
  const double* coefficients;
  std::size_t terms;
};

/// Each number's value of its channel's series, by Clenshaw's recurrence in the order of NumPy's chebval: the same
/// bits.
void evaluate_series(const ChannelSeries& series, const double* x, double* out);

}  // namespace lw::maps
