#include <algorithm>
#include <cmath>

#include "backend/ref/kernels.hpp"
#include "backend/ref/queue.hpp"

namespace lw::ref {
namespace {

constexpr std::size_t kBlock = 32;     // a block with all parts fits half the stack that musl gives a thread, 128 KiB
constexpr std::size_t kMaxFrom = 240;  // with Ring's limit on limbs, sums of products below 2^120 fit 128 bits

// What one block of coefficients has in common for all target limbs. With y_j in [0, q_j) in place of centred y_j,
// sum_j y_j (D/q_j) is too large by D for every y_j above (q_j - 1)/2; `multiples` counts these together with u.
struct ConversionBlock {
  Word y[kMaxFrom][kBlock];
  Word multiples[kBlock];
};

void decompose(ConversionBlock& block, const RefQueue& queue, const ConstLimbView& in, std::size_t poly,
               std::size_t start, std::size_t size, const BaseConversionTable& table) noexcept {
  double v[kBlock] = {};
  std::int64_t centred_down[kBlock] = {};
  for (std::size_t j = 0; j < table.from.size(); ++j) {
    const auto place = std::find(in.limbs.begin(), in.limbs.end(), table.from[j]) - in.limbs.begin();
    const Word* x = in.limb(poly, static_cast<std::size_t>(place)) + start;
    const Modulus& m = queue.moduli[table.from[j]];
    const ShoupFactor factor(table.inverse[j], m.value());
    for (std::size_t i = 0; i < size; ++i) {
      const Word y = factor.mul(x[i], m.value());
      const std::int64_t centred = m.centred(y);
      block.y[j][i] = y;
      centred_down[i] += centred < 0;
      v[i] = std::fma(static_cast<double>(centred), table.reciprocal[j], v[i]);
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    // Not negative: v + centred_down is sum_j y_j / q_j up to rounding errors far below 1/2.
    block.multiples[i] = static_cast<Word>(static_cast<std::int64_t>(std::rint(v[i])) + centred_down[i]);
  }
}

void recompose(Word* out, const Modulus& m, const ConversionBlock& block, std::size_t size, std::size_t terms,
               const Word* weight, Word total) noexcept {
  U128 sums[kBlock];
  const Word minus_total = m.neg(total);
  for (std::size_t i = 0; i < size; ++i) sums[i] = static_cast<U128>(block.multiples[i]) * minus_total;
  for (std::size_t j = 0; j < terms; ++j) {
    for (std::size_t i = 0; i < size; ++i) sums[i] += static_cast<U128>(block.y[j][i]) * weight[j];
  }
  for (std::size_t i = 0; i < size; ++i) out[i] = m.reduce(sums[i]);
}

}  // namespace

void base_convert(Queue& q, LimbView out, ConstLimbView in, const BaseConversionTable& table) noexcept {
  RefQueue& queue = ref_queue(q);
  const std::size_t terms = table.from.size(), targets = table.to.size();
  const std::size_t size = std::min<std::size_t>(kBlock, queue.degree);
  const std::size_t blocks = queue.degree / size;
  const std::size_t cycles = size * (10 * terms + targets * (6 + 2 * terms));
  queue.pool.parallel_for(out.polys * blocks, cycles, [&](std::size_t task) {
    const std::size_t poly = task / blocks, start = task % blocks * size;
    ConversionBlock block;
    decompose(block, queue, in, poly, start, size, table);
    for (std::size_t t = 0; t < targets; ++t) {
      recompose(out.limb(poly, t) + start, queue.moduli[out.limbs[t]], block, size, terms, &table.weight[t * terms],
                table.total[t]);
    }
  });
}

}  // namespace lw::ref
