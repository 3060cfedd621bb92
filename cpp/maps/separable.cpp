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

constexpr std::int64_t kBlock = 64;  // slots that are left out together where their weights are 0
constexpr std::int64_t kRows = 4;    // vectors that stay in the second cache while all diagonals go by
constexpr std::int64_t kSums = 16;   // sums that stay in registers meanwhile: of one vector, or of as many
constexpr std::size_t kFew = 8;      // diagonals for which it does not pay that vectors share loads of weights

/// Slots from `first` to before `last`: the inputs in the first vector that each diagonal with weights there meets, and
/// those weights, diagonal after diagonal.
struct SlotBlock {
  std::int64_t first, last;
  std::vector<const double*> inputs;
  std::vector<double> weights;
};

/// Adds the products of a few slots of a few vectors to their sums, diagonal by diagonal.
///
/// at  the first slot, counted from that of the block
template <std::int64_t kVectors, std::int64_t kSlots>
void add_side(const SlotBlock& block, std::int64_t at, const VectorRows& vectors, std::int64_t row, double* out) {
  double sums[kVectors][kSlots];
  for (std::int64_t v = 0; v < kVectors; ++v) std::copy_n(out + v * vectors.out_stride, kSlots, sums[v]);
  const double* weights = block.weights.data() + at;
  for (const double* const inputs : block.inputs) {
    const double* const in = inputs + row * vectors.in_stride + at;
    for (std::int64_t v = 0; v < kVectors; ++v) {
      for (std::int64_t p = 0; p < kSlots; ++p) sums[v][p] += weights[p] * in[v * vectors.in_stride + p];
    }
    weights += block.last - block.first;
  }
  for (std::int64_t v = 0; v < kVectors; ++v) std::copy_n(sums[v], kSlots, out + v * vectors.out_stride);
}

template <std::int64_t kVectors>
void add_block(const SlotBlock& block, const VectorRows& vectors, std::int64_t row, double* out) {
  constexpr std::int64_t kSlots = kSums / kVectors;
  double* const sums = out + row * vectors.out_stride + block.first;
  const std::int64_t slots = block.last - block.first;
  std::int64_t at = 0;
  for (; at + kSlots <= slots; at += kSlots) add_side<kVectors, kSlots>(block, at, vectors, row, sums + at);
  for (; at < slots; ++at) add_side<kVectors, 1>(block, at, vectors, row, sums + at);
}

/// Blocks within which the inputs of every diagonal lie side by side, with those diagonals that have weights there.
std::vector<SlotBlock> blocks_of(std::span<const DiagonalProduct> products, std::int64_t slots, bool finite) {
  std::vector<std::int64_t> ends{slots};
  for (std::int64_t end = kBlock; end < slots; end += kBlock) ends.push_back(end);
  for (const DiagonalProduct& product : products) {
    if (product.steps != 0) ends.push_back(slots - product.steps);
  }
  std::sort(ends.begin(), ends.end());
  std::vector<SlotBlock> blocks;
  std::int64_t first = 0;
  for (const std::int64_t last : ends) {
    SlotBlock block{first, last, {}, {}};
    for (const auto& [weights, in, steps] : products) {
      if (finite && std::all_of(weights + first, weights + last, [](double w) { return w == 0.0; })) continue;
      block.inputs.push_back(in + (first + steps < slots ? first : first - slots) + steps);
      block.weights.insert(block.weights.end(), weights + first, weights + last);
    }
    if (!block.inputs.empty()) blocks.push_back(std::move(block));
    first = last;
  }
  return blocks;
}

}  // namespace

void add_products(std::span<const DiagonalProduct> products, const VectorRows& vectors, bool finite, double* out) {
  const std::vector<SlotBlock> blocks = blocks_of(products, vectors.slots, finite);
  for (std::int64_t first = 0; first < vectors.rows; first += kRows) {
    const std::int64_t last = std::min(first + kRows, vectors.rows);
    for (const SlotBlock& block : blocks) {
      if (last - first == kRows && block.inputs.size() >= kFew) {
        add_block<kRows>(block, vectors, first, out);
      } else {
        for (std::int64_t row = first; row < last; ++row) add_block<1>(block, vectors, row, out);
      }
    }
  }
}

}  // namespace lw::maps
