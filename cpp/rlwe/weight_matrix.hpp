// A matrix of public numbers as integers, in the form in which kernels multiply with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lw {

struct MatrixShape {
  std::size_t rows, columns;
};

/// Rows that have numbers in much the same columns.
struct WeightBlock {
  std::vector<std::uint32_t> rows, columns;
  /// Each number is the sum of parts[k] * 2^(kPartBits * k); in a part one column comes after the other.
  std::vector<std::vector<std::int32_t>> parts;
};

class WeightMatrix {
 public:
  /// Bits of a part: what kernels take at once (backend/matmul_way.hpp).
  static constexpr int kPartBits = 24;

  /// round(number * scale) of numbers that are given row after row. Throws lw::Error(kShape) for another number of
  /// them, kRange for an integer of more than 53 bits.
  WeightMatrix(std::span<const double> numbers, MatrixShape shape, double scale);

  const MatrixShape& shape() const noexcept { return shape_; }
  /// Rows without a number other than zero are in none.
  const std::vector<WeightBlock>& blocks() const noexcept { return blocks_; }

 private:
  MatrixShape shape_;
  std::vector<WeightBlock> blocks_;
};

}  // namespace lw
