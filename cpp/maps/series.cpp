#include "maps/series.hpp"

#include <algorithm>

namespace lw::maps {
namespace {

constexpr std::size_t kTogether = 8;  // numbers whose recurrences go side by side, in registers

/// Evaluates series at kTogether numbers, whose coefficients lie beside each other, or are the same.
template <bool kDiffer>
void clenshaw(const double* x, const double* coefficients, std::size_t terms, std::size_t channels, double* out) {
  double twice[kTogether], lower[kTogether], upper[kTogether];
  const double* const last = coefficients + (terms - 1) * channels;
  for (std::size_t i = 0; i < kTogether; ++i) {
    const std::size_t channel = kDiffer ? i : 0;
    twice[i] = 2.0 * x[i];
    upper[i] = terms > 1 ? last[channel] : 0.0;
    lower[i] = terms > 1 ? (last - channels)[channel] : last[channel];
  }
  for (std::size_t term = terms > 2 ? terms - 2 : 0; term-- > 0;) {
    const double* const row = coefficients + term * channels;
    for (std::size_t i = 0; i < kTogether; ++i) {
      const double before = lower[i];
      lower[i] = row[kDiffer ? i : 0] - upper[i];
      upper[i] = before + upper[i] * twice[i];
    }
  }
  for (std::size_t i = 0; i < kTogether; ++i) out[i] = lower[i] + upper[i] * x[i];
}

/// The last numbers of a row, fewer than go side by side.
template <bool kDiffer>
void clenshaw_of_few(const double* x, const double* coefficients, std::size_t terms, std::size_t channels,
                     std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    double same[kTogether], found[kTogether];
    std::fill_n(same, kTogether, x[i]);
    clenshaw<false>(same, coefficients + (kDiffer ? i : 0), terms, channels, found);
    out[i] = found[0];
  }
}

template <bool kDiffer>
void row_of(const double* x, const double* coefficients, std::size_t terms, std::size_t channels, std::size_t count,
            double* out) {
  std::size_t at = 0;
  for (; at + kTogether <= count; at += kTogether) {
    clenshaw<kDiffer>(x + at, coefficients + (kDiffer ? at : 0), terms, channels, out + at);
  }
  clenshaw_of_few<kDiffer>(x + at, coefficients + (kDiffer ? at : 0), terms, channels, count - at, out + at);
}

}  // namespace

void evaluate_series(const ChannelSeries& series, const double* x, double* out) {
  for (std::size_t run = 0; run < series.runs; ++run) {
    const std::size_t begin = run * series.channels * series.elements;
    if (series.elements == 1) {
      row_of<true>(x + begin, series.coefficients, series.terms, series.channels, series.channels, out + begin);
      continue;
    }
    for (std::size_t channel = 0; channel < series.channels; ++channel) {
      const std::size_t at = begin + channel * series.elements;
      row_of<false>(x + at, series.coefficients + channel, series.terms, series.channels, series.elements, out + at);
    }
  }
}

}  // namespace lw::maps
