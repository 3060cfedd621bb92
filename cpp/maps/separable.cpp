#include "maps/separable.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lw::maps {
namespace {

/// Wraps around where there is no term, and nothing reads it.
std::int32_t at(const EndSum& sum, std::int64_t slot) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.out[slot]) +
                                   static_cast<std::uint32_t>(sum.in[slot]));
}

}  // namespace

void diagonal_of(const SeparableDiagonal& diagonal, const bool* also, std::int64_t rotation, double factor,
                 double* out) {
  const std::int64_t slots = diagonal.slots;
  std::vector<std::uint8_t> there(static_cast<std::size_t>(slots));
  for (std::int64_t p = 0; p < slots; ++p) {
    there[static_cast<std::size_t>(p)] = static_cast<std::uint8_t>(at(diagonal.difference, p) == 0);
  }
  if (diagonal.serves != nullptr) {
    for (std::int64_t p = 0; p < slots; ++p) {
      there[static_cast<std::size_t>(p)] &= static_cast<std::uint8_t>(diagonal.serves[p] > diagonal.steps);
    }
  }
  for (const auto& [number, limit] : diagonal.bounded) {
    for (std::int64_t p = 0; p < slots; ++p) {
      const auto value = static_cast<std::uint32_t>(at(number, p));
      there[static_cast<std::size_t>(p)] &= static_cast<std::uint8_t>(value < static_cast<std::uint32_t>(limit));
    }
  }
  if (also != nullptr) {
    for (std::int64_t p = 0; p < slots; ++p) there[static_cast<std::size_t>(p)] &= static_cast<std::uint8_t>(also[p]);
  }
  const auto value_at = [&](std::int64_t p) {
    if (there[static_cast<std::size_t>(p)] == 0) return 0.0;
    if (diagonal.weights == nullptr) return 1.0;
    return diagonal.weights[std::clamp<std::int64_t>(at(diagonal.flat, p), 0, diagonal.num_weights - 1)];
  };
  for (std::int64_t p = rotation; p < slots; ++p) *out++ = value_at(p) * factor;
  for (std::int64_t p = 0; p < rotation; ++p) *out++ = value_at(p) * factor;
}

namespace {

/// A stretch of slots, of which the inputs lie side by side too.
void add_stretch(const double* weights, const double* in, std::int64_t slots, std::int64_t length, double* out) {
  const auto row = [slots](auto* rows, std::size_t number) { return rows + static_cast<std::int64_t>(number) * slots; };
  const double *low = row(in, kLow), *high = row(in, kHigh);
  double *lowest = row(out, kLow), *highest = row(out, kHigh);
  for (std::int64_t p = 0; p < length; ++p) {
    const double positive = std::max(weights[p], 0.0), negative = std::min(weights[p], 0.0);
    lowest[p] += positive * low[p] + negative * high[p];
    highest[p] += positive * high[p] + negative * low[p];
  }
  const double* variance = row(in, kSquares);
  double* squares = row(out, kSquares);
  for (std::int64_t p = 0; p < length; ++p) squares[p] += weights[p] * weights[p] * variance[p];
  for (const std::size_t number : {kLinear, kBias, kSizes}) {
    const double* value = row(in, number);
    double* sum = row(out, number);
    for (std::int64_t p = 0; p < length; ++p) sum[p] += std::abs(weights[p]) * value[p];
  }
  const double* squared = row(in, kEncoded);
  double* encoded = row(out, kEncoded);
  for (std::int64_t p = 0; p < length; ++p) encoded[p] += squared[p];
}

}  // namespace

bool add_diagonal(const double* weights, const double* in, std::int64_t slots, std::int64_t steps, double* out) {
  add_stretch(weights, in + steps, slots, slots - steps, out);
  add_stretch(weights + (slots - steps), in, slots, steps, out + (slots - steps));
  return std::any_of(weights, weights + slots, [&](double weight) { return weight != weights[0]; });
}

namespace {

constexpr std::int64_t kStretch = 64;        // slots that are left out together where their weights are 0
constexpr std::int64_t kCachedSlots = 1024;  // slots whose sums stay in the nearest cache while all diagonals are added

/// Weights side by side, the inputs that they meet, and where their sums lie.
struct WeightRun {
  const double *weights, *in;
  std::int64_t first, length;
};

/// Appends the stretches of slots from `first` to before `last` that have weights.
void append_runs(const DiagonalProduct& product, std::int64_t first, std::int64_t last, std::int64_t shift, bool finite,
                 std::vector<WeightRun>& runs) {
  std::int64_t end = -1;  // of the last run
  for (std::int64_t begin = first; begin < last; begin += kStretch) {
    const std::int64_t next = std::min(begin + kStretch, last);
    const bool is_empty = finite && std::all_of(product.weights + begin, product.weights + next,
                                                [](double weight) { return weight == 0.0; });
    if (is_empty) continue;
    if (begin == end) {
      runs.back().length += next - begin;
    } else {
      runs.push_back({product.weights + begin, product.in + begin + shift, begin, next - begin});
    }
    end = next;
  }
}

}  // namespace

void add_products(std::span<const DiagonalProduct> products, const VectorRows& vectors, bool finite, double* out) {
  std::vector<WeightRun> runs;
  for (std::int64_t first = 0; first < vectors.slots; first += kCachedSlots) {
    const std::int64_t last = std::min(first + kCachedSlots, vectors.slots);
    runs.clear();
    for (const DiagonalProduct& product : products) {
      const std::int64_t around = std::clamp(vectors.slots - product.steps, first, last);  // where inputs begin anew
      append_runs(product, first, around, product.steps, finite, runs);
      append_runs(product, around, last, product.steps - vectors.slots, finite, runs);
    }
    for (std::int64_t row = 0; row < vectors.rows; ++row) {
      for (const WeightRun& run : runs) {
        const double *weights = run.weights, *in = run.in + row * vectors.in_stride;
        double* sums = out + row * vectors.out_stride + run.first;
        for (std::int64_t p = 0; p < run.length; ++p) sums[p] += weights[p] * in[p];
      }
    }
  }
}

}  // namespace lw::maps
