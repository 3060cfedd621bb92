#include "rlwe/weight_matrix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

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

/// A set of columns.
class ColumnSet {
 public:
  explicit ColumnSet(std::size_t count) : words_((count + 63) / 64) {}
  void insert(std::size_t column) { words_[column / 64] |= std::uint64_t{1} << column % 64; }
  std::size_t size() const {
    std::size_t total = 0;
    for (const std::uint64_t word : words_) total += static_cast<std::size_t>(std::popcount(word));
    return total;
  }
  ColumnSet joined(const ColumnSet& other) const {
    ColumnSet both = *this;
    for (std::size_t i = 0; i < words_.size(); ++i) both.words_[i] |= other.words_[i];
    return both;
  }
  std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> all;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t left = words_[i]; left != 0; left &= left - 1) {
        all.push_back(static_cast<std::uint32_t>(64 * i) + static_cast<std::uint32_t>(std::countr_zero(left)));
      }
    }
    return all;
  }

 private:
  std::vector<std::uint64_t> words_;
};

struct RowGroup {
  std::vector<std::uint32_t> rows;
  ColumnSet columns;
};

/// Puts a row where it adds the fewest products; some with zero are no loss, for rows of a block are read together.
void place_row(std::vector<RowGroup>& groups, std::uint32_t row, const ColumnSet& columns) {
  const std::size_t own = columns.size();
  std::size_t least = own + own / 4 + 1;
  std::optional<std::pair<std::size_t, ColumnSet>> best;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    ColumnSet both = groups[g].columns.joined(columns);
    const std::size_t height = groups[g].rows.size();
    const std::size_t added = (height + 1) * both.size() - height * groups[g].columns.size();
    if (added >= least) continue;
    least = added;
    best.emplace(g, std::move(both));
  }
  if (!best) {
    groups.push_back({{row}, columns});
    return;
  }
  groups[best->first].rows.push_back(row);
  groups[best->first].columns = std::move(best->second);
}

}  // namespace

WeightMatrix::WeightMatrix(std::span<const double> numbers, MatrixShape shape, double scale) : shape_(shape) {
  if (numbers.size() != shape.rows * shape.columns) {
    throw Error(ErrorKind::kShape, "matrix_product: " + std::to_string(numbers.size()) + " numbers for a matrix of " +
                                       std::to_string(shape.rows) + " rows and " + std::to_string(shape.columns) +
                                       " columns");
  }
  std::vector<RowGroup> groups;
  std::vector<std::int64_t> integers(numbers.size());
  for (std::size_t row = 0; row < shape.rows; ++row) {
    ColumnSet columns(shape.columns);
    for (std::size_t column = 0; column < shape.columns; ++column) {
      const std::size_t place = row * shape.columns + column;
      const double scaled = numbers[place] * scale;
      if (!(std::abs(scaled) < 0x1p53)) {
        throw Error(ErrorKind::kRange, "matrix_product: the number at row " + std::to_string(row) + ", column " +
                                           std::to_string(column) + " has more than 53 bits at its scale");
      }
      integers[place] = std::llrint(scaled);
      if (integers[place] != 0) columns.insert(column);
    }
    if (columns.size() > 0) place_row(groups, static_cast<std::uint32_t>(row), columns);
  }
  for (RowGroup& group : groups) {
    std::vector<std::uint32_t> columns = group.columns.numbers();
    std::vector<std::int64_t> by_column;
    for (const std::uint32_t column : columns) {
      for (const std::uint32_t row : group.rows) by_column.push_back(integers[row * shape.columns + column]);
    }
    blocks_.push_back({std::move(group.rows), std::move(columns), digits_of(std::move(by_column))});
  }
}

}  // namespace lw
