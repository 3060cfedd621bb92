#include "rlwe/weight_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "backend/matmul_way.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

static_assert(kMostMatmulWeight == 1 << WeightMatrix::kPartBits);

/// Integers of at most 54 bits as digits: all but the last of at most 2^23 in magnitude, and the last of 2^24.
std::vector<std::vector<std::int32_t>> digits_of(std::vector<std::int64_t> integers) {
  constexpr std::int64_t kUnit = std::int64_t{1} << WeightMatrix::kPartBits;
  std::vector<std::vector<std::int32_t>> parts;
  const auto is_large = [](std::int64_t integer) { return std::abs(integer) > kMostMatmulWeight; };
  while (std::any_of(integers.begin(), integers.end(), is_large)) {
    std::vector<std::int32_t>& part = parts.emplace_back();
    for (std::int64_t& integer : integers) {
      const std::int64_t above = (integer + kUnit / 2) >> WeightMatrix::kPartBits;
      part.push_back(static_cast<std::int32_t>(integer - above * kUnit));
      integer = above;
    }
  }
  parts.emplace_back(integers.begin(), integers.end());
  return parts;
}

}  // namespace

WeightMatrix::WeightMatrix(std::span<const double> numbers, MatrixShape shape, double scale) : shape_(shape) {
  if (numbers.size() != shape.rows * shape.columns) {
    throw Error(ErrorKind::kShape, "matrix_product: " + std::to_string(numbers.size()) + " numbers for a matrix of " +
                                       std::to_string(shape.rows) + " rows and " + std::to_string(shape.columns) +
                                       " columns");
  }
  std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> rows_by_columns;
  std::vector<std::int64_t> integers(numbers.size());
  for (std::size_t row = 0; row < shape.rows; ++row) {
    std::vector<std::uint32_t> columns;
    for (std::size_t column = 0; column < shape.columns; ++column) {
      const std::size_t place = row * shape.columns + column;
      const double scaled = numbers[place] * scale;
      if (!(std::abs(scaled) < 0x1p53)) {
        throw Error(ErrorKind::kRange, "matrix_product: the number at row " + std::to_string(row) + ", column " +
                                           std::to_string(column) + " has more than 53 bits at its scale");
      }
      integers[place] = std::llrint(scaled);
      if (integers[place] != 0) columns.push_back(static_cast<std::uint32_t>(column));
    }
    if (!columns.empty()) rows_by_columns[std::move(columns)].push_back(static_cast<std::uint32_t>(row));
  }
  for (auto& [columns, rows] : rows_by_columns) {
    std::vector<std::int64_t> by_column;
    for (const std::uint32_t column : columns) {
      for (const std::uint32_t row : rows) by_column.push_back(integers[row * shape.columns + column]);
    }
    blocks_.push_back({std::move(rows), columns, digits_of(std::move(by_column))});
  }
}

}  // namespace lw
