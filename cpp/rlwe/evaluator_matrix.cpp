// Products of public matrices and lists of ciphertexts.
#include <algorithm>
#include <utility>

#include "rlwe/evaluator.hpp"
#include "rlwe/operand_checks.hpp"

namespace lw {
namespace {

constexpr std::size_t kRowsAtOnce = 32;  // of sums of a further part of weights, which are in memory beside the rows

/// The sums of terms times the numbers of a block; those of further parts are multiplied by their unit, and added.
void multiply_block(const Ring& ring, std::span<const ConstLimbView> terms, std::span<const LimbView> sums,
                    const WeightBlock& block, const Tick& tick) {
  const LimbList limbs(sums[0].limbs.begin(), sums[0].limbs.end());
  const std::size_t height = sums.size();
  for (std::size_t first = 0; first < height; first += kRowsAtOnce) {
    const std::span<const LimbView> some = sums.subspan(first, std::min(kRowsAtOnce, height - first));
    std::vector<std::int32_t> weights(some.size() * terms.size());
    std::vector<RnsPolys> more;
    for (std::size_t k = 0; k < block.parts.size(); ++k) {
      call(tick);
      for (std::size_t t = 0; t < terms.size(); ++t) {
        const auto column = block.parts[k].begin() + static_cast<std::ptrdiff_t>(t * height + first);
        std::copy_n(column, some.size(), weights.begin() + static_cast<std::ptrdiff_t>(t * some.size()));
      }
      if (k == 0) {
        ring.kernels().integer_matmul(ring.queue(), some, terms, weights);
        continue;
      }
      std::vector<LimbView> made;
      if (more.empty()) {
        for (std::size_t r = 0; r < some.size(); ++r) more.emplace_back(ring, limbs, some[r].polys);
      }
      for (RnsPolys& row : more) made.push_back(row.view());
      ring.kernels().integer_matmul(ring.queue(), made, terms, weights);
      std::vector<Word> units = ring.half_weights(1, 0, limbs);
      const auto unit = ring.half_weights(std::int64_t{1} << (WeightMatrix::kPartBits * static_cast<int>(k)), 0, limbs);
      units.insert(units.end(), unit.begin(), unit.end());
      for (std::size_t r = 0; r < some.size(); ++r) {
        const std::vector<ConstLimbView> both = {some[r], std::as_const(more[r]).view()};
        ring.kernels().weighted_sum(ring.queue(), some[r], both, units);
      }
    }
  }
}

}  // namespace

std::vector<Ciphertext> Evaluator::matrix_product(std::span<const Ciphertext> x, const WeightMatrix& weights,
                                                  double scale) const {
  const char* op = "matrix_product";
  if (x.empty() || x.size() != weights.shape().columns) {
    fail(ErrorKind::kShape, op,
         std::to_string(x.size()) + " ciphertexts for " + std::to_string(weights.shape().columns) + " columns");
  }
  Ciphertext label = x[0];
  for (const Ciphertext& each : x) {
    require_alike(x[0], each, op);
    require_degree(each.degree(), x[0].degree(), x[0].degree(), op);
    require_scale(each.scale, x[0].scale, op);
    join_label(label, each);
  }
  const Ring& ring = context_.ring();
  const LimbList& limbs = x[0].residues->limbs();
  std::vector<std::shared_ptr<RnsPolys>> rows;
  for (std::size_t row = 0; row < weights.shape().rows; ++row) {
    rows.push_back(std::make_shared<RnsPolys>(ring, limbs, x[0].residues->polys()));
  }
  std::vector<bool> is_made(rows.size());
  for (const WeightBlock& block : weights.blocks()) {
    std::vector<ConstLimbView> terms;
    std::vector<LimbView> sums;
    for (const std::uint32_t column : block.columns) terms.push_back(x[column].residues->view());
    for (const std::uint32_t row : block.rows) sums.push_back(rows[row]->view()), is_made[row] = true;
    multiply_block(ring, terms, sums, block, tick_);
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::vector<LimbView> zero = {rows[row]->view()};
    if (!is_made[row]) ring.kernels().integer_matmul(ring.queue(), zero, {}, {});
  }
  std::vector<Ciphertext> results;
  for (std::shared_ptr<RnsPolys>& row : rows) {
    results.push_back(with_residues(label, std::move(row)));
    results.back().scale = scale;
  }
  return results;
}

}  // namespace lw
