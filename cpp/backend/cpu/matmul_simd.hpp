// Products of matrices of small integers and residues (matmul_way.hpp): a block of the result stays in registers
// while terms pass by.
#pragma once

#include <algorithm>
#include <cstddef>

#include "backend/cpu/limb_sums.hpp"
#include "backend/cpu/prime_simd.hpp"

namespace lw::cpu {
namespace {

/// A block of the result: 12 x 2 vectors in 32 registers, 6 x 2 in 16, beside two vectors of residues and a weight.
template <class V>
struct MatmulBlock {
  using F64 = typename V::F64;
  static constexpr std::size_t kRows = V::kSums * 3 / 2, kColumns = 2 * V::kWords;

  F64 sum[kRows][2];

  /// sum[r] becomes op(sum[r], r, vector).
  template <class Op>
  [[gnu::always_inline]] void update(const Op& op) noexcept {
#pragma GCC unroll 12
    for (std::size_t r = 0; r < kRows; ++r) {
      sum[r][0] = op(sum[r][0], r, 0);
      sum[r][1] = op(sum[r][1], r, 1);
    }
  }

  /// Adds up `count` terms. weights: kRows to a term; residues: kColumns.
  [[gnu::always_inline]] void add(const double* weights, const double* residues, std::size_t count) noexcept {
    for (std::size_t t = 0; t < count; ++t, weights += kRows, residues += kColumns) {
      const F64 left = V::load(residues), right = V::load(residues + V::kWords);
#pragma GCC unroll 12
      for (std::size_t r = 0; r < kRows; ++r) {
        const F64 weight = V::set(weights[r]);
        sum[r][0] = V::fma(weight, left, sum[r][0]);
        sum[r][1] = V::fma(weight, right, sum[r][1]);
      }
    }
  }
};

/// Some terms of a tile in the order of their use, near and without the conflicts of limbs at powers of two.
template <class V>
class MatmulTerms {
 public:
  using Block = MatmulBlock<V>;
  using F64 = typename V::F64;

  MatmulTerms(const MatmulTile& tile, std::size_t first, std::size_t count, const MatmulWay& way) noexcept
      : tile_(tile), first_(first), count_(count), way_(way) {}

  /// Words [start, start + n) of the tile: [block of columns][part, the higher first][term].
  void load_residues(std::size_t start, std::size_t n) noexcept {
    const F64 unit = V::set(way_.unit), per_unit = V::set(1 / way_.unit);
    const std::size_t part = count_ * Block::kColumns;
    for (std::size_t t = 0; t < count_; ++t) {
      const Word* const from = tile_.a[first_ + t].limb(tile_.poly, tile_.j) + tile_.start + start;
      double* to = residues_ + t * Block::kColumns;
      for (std::size_t i = 0; i < n; i += Block::kColumns, to += way_.parts * part) {
        for (std::size_t w = 0; w < Block::kColumns; w += V::kWords) {
          const F64 x = V::load(from + i + w);
          if (way_.parts == 1) {
            V::store(to + w, x);
            continue;
          }
          const F64 high = V::round(V::mul(x, per_unit));
          V::store(to + w, high);
          V::store(to + part + w, V::fnma(high, unit, x));
        }
      }
    }
  }

  /// The weights of a block of rows from `row` on, with zeros for rows that are not there.
  void load_weights(std::size_t row) noexcept {
    const std::size_t rows = tile_.out.size(), here = std::min(Block::kRows, rows - row);
    const std::int32_t* from = tile_.weights + first_ * rows + row;
    double* to = weights_;
    for (std::size_t t = 0; t < count_; ++t, from += rows, to += Block::kRows) {
      if (here == Block::kRows) {
        for (std::size_t r = 0; r < Block::kRows; ++r) to[r] = from[r];
      } else {
        for (std::size_t r = 0; r < Block::kRows; ++r) to[r] = r < here ? from[r] : 0;
      }
    }
  }

  /// The sums of block `block` of the columns, for the rows whose weights are loaded; null for rows that are not
  /// there. has_begin: they are added to what `out` has of earlier terms.
  void sum(std::size_t block, Word* const (&out)[Block::kRows], bool has_begin, const PrimeVectors<V>& prime,
           double per_q) const noexcept {
    Block sums;
    sums.update([](F64, std::size_t, std::size_t) { return V::set(0); });
    const double* residues = residues_ + block * way_.parts * count_ * Block::kColumns;
    for (std::size_t part = 0; part < way_.parts; ++part, residues += count_ * Block::kColumns) {
      if (part > 0) {
        const F64 unit = V::set(way_.unit), unit_over_q = V::set(way_.unit * per_q);
        sums.update([&](F64 x, std::size_t, std::size_t) { return prime.product(x, unit, unit_over_q); });
      }
      if (has_begin && part + 1 == way_.parts) {
        sums.update([&](F64 x, std::size_t r, std::size_t w) {
          return out[r] == nullptr ? x : V::add(x, V::load(out[r] + w * V::kWords));
        });
      }
      for (std::size_t t = 0; t < count_; t += way_.terms) {
        sums.add(weights_ + t * Block::kRows, residues + t * Block::kColumns, std::min(way_.terms, count_ - t));
        sums.update([&](F64 x, std::size_t, std::size_t) { return prime.reduce(x); });
      }
    }
    sums.update([&](F64 x, std::size_t r, std::size_t w) {
      if (out[r] != nullptr) V::store(out[r] + w * V::kWords, x);
      return x;
    });
  }

 private:
  const MatmulTile& tile_;
  const std::size_t first_, count_;
  const MatmulWay& way_;
  alignas(64) double weights_[kMatmulTerms * Block::kRows];
  alignas(64) double residues_[kMatmulTerms * kMatmulColumns];
};

template <class V>
void matmul_tile(const MatmulTile& tile, std::size_t n, const MatmulWay& way, const Prime& p) noexcept {
  using Block = MatmulBlock<V>;
  const PrimeVectors<V> prime(p);
  const std::size_t at_once = std::min(n, kMatmulColumns / way.parts);
  for (std::size_t start = 0; start < n; start += at_once) {
    std::size_t first = 0;
    do {  // once without terms too, whose sums are zero
      MatmulTerms<V> terms(tile, first, std::min(kMatmulTerms, tile.a.size() - first), way);
      terms.load_residues(start, at_once);
      for (std::size_t row = 0; row < tile.out.size(); row += Block::kRows) {
        terms.load_weights(row);
        for (std::size_t i = 0; i < at_once; i += Block::kColumns) {
          Word* out[Block::kRows] = {};
          for (std::size_t r = row; r < std::min(row + Block::kRows, tile.out.size()); ++r) {
            out[r - row] = tile.out[r].limb(tile.poly, tile.j) + tile.start + start + i;
          }
          terms.sum(i / Block::kColumns, out, first > 0, prime, p.inverse);
        }
      }
      first += kMatmulTerms;
    } while (first < tile.a.size());
  }
}

template <class V>
std::size_t multiply_adds(double* sums, std::size_t steps) noexcept {
  using Block = MatmulBlock<V>;
  Block chains;
  chains.update([&](auto, std::size_t r, std::size_t w) { return V::set(sums[2 * r + w]); });
  const auto factor = V::set(sums[0]);
  for (std::size_t i = 0; i < steps; ++i) {
    chains.update([&](auto x, std::size_t, std::size_t) { return V::fma(x, factor, factor); });
  }
  auto all = V::set(0);
  chains.update([&](auto x, std::size_t, std::size_t) { return all = V::add(all, x); });
  alignas(64) double words[V::kWords];
  V::store(words, all);
  sums[0] = words[0];
  return steps * Block::kRows * Block::kColumns;
}

}  // namespace
}  // namespace lw::cpu
