// Diagonals of loop nests in separable form (values/packing/loop_nests/separable.py), and bounds of what they do to
// intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lw::maps {

/// A number at each pair of ends: that at the slot of the output plus that at the slot of the input.
struct EndSum {
  const std::int32_t* out;  // slots of one output vector
  const std::int32_t* in;   // slots of one input vector from the rotation on
};

/// One diagonal. At each slot of an output vector there is a term where the difference is 0, the input is the copy that
/// serves, and every bounded number is from 0 to below its limit; its weight is then that of the flat index.
struct SeparableDiagonal {
  std::int64_t slots;
  std::int64_t steps;
  EndSum difference;
  const std::int32_t* serves;  // how far to its left each slot of the input serves; nullptr: asked elsewhere
  std::vector<std::pair<EndSum, std::int32_t>> bounded;
  EndSum flat;            // not read where there are no weights
  const double* weights;  // nullptr: 1 everywhere
  std::int64_t num_weights;
};

/// The diagonal rotated left by `rotation` slots, in [0, slots), and times a factor.
///
/// also  where a term may be; nullptr: everywhere.
void diagonal_of(const SeparableDiagonal& diagonal, const bool* also, std::int64_t rotation, double factor,
                 double* out);

/// The bounds that are followed for every slot of a vector that a linear map reads, or makes: rows of `slots`.
enum BoundRow : std::size_t { kLow, kHigh, kSquares, kLinear, kBias, kSizes, kEncoded, kNumBoundRows };

/// Adds what a diagonal makes of bounds: lowest and highest sums, variances added up with squared weights and
/// deviations, bias and sizes with weights, and what an error of the weights is multiplied with.
///
/// in    rows: low, high, variance, deviation, bias, size, squared size
/// steps from 0 to below the slots, to the left
/// Returns whether the weights differ.
bool add_diagonal(const double* weights, const double* in, std::int64_t slots, std::int64_t steps, double* out);

/// A diagonal, and the first of the vectors that it is multiplied with when they are rotated left by `steps`.
struct DiagonalProduct {
  const double* weights;
  const double* in;
  std::int64_t steps;
};

/// Vectors of so many slots, one every `stride` numbers.
struct VectorRows {
  std::int64_t slots, rows, in_stride, out_stride;
};

/// Adds products of diagonals with each of several vectors to sums of as many, diagonal by diagonal: for every slot the
/// bits of products and sums one after the other.
///
/// finite  whether no number of the vectors is infinite or NaN: then weights of 0 add nothing
void add_products(std::span<const DiagonalProduct> products, const VectorRows& vectors, bool finite, double* out);

}  // namespace lw::maps
