#include <algorithm>

#include "backend/ref/kernels.hpp"
#include "backend/ref/queue.hpp"

namespace lw::ref {
namespace {

constexpr std::size_t kAddCycles = 1;
constexpr std::size_t kMulCycles = 6;

// An operand of one poly serves every poly of the result.
inline const Word* operand_limb(const ConstLimbView& a, std::size_t poly, std::size_t j) noexcept {
  return a.limb(a.polys == 1 ? 0 : poly, j);
}

// out[i] = op(modulus, a[i]) on every limb.
template <class Op>
void map(Queue& q, const LimbView& out, const ConstLimbView& a, std::size_t cycles, Op op) noexcept {
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, cycles, [&](std::size_t poly, std::size_t j) {
    const Modulus m = queue.moduli[out.limbs[j]];
    const Word* x = operand_limb(a, poly, j);
    Word* y = out.limb(poly, j);
    for (std::size_t i = 0; i < queue.degree; ++i) y[i] = op(m, x[i]);
  });
}

// out[i] = op(modulus, out[i], a[i], b[i]) on every limb.
template <class Op>
void zip(Queue& q, const LimbView& out, const ConstLimbView& a, const ConstLimbView& b, std::size_t cycles,
         Op op) noexcept {
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, cycles, [&](std::size_t poly, std::size_t j) {
    const Modulus m = queue.moduli[out.limbs[j]];
    const Word *x = operand_limb(a, poly, j), *y = operand_limb(b, poly, j);
    Word* z = out.limb(poly, j);
    for (std::size_t i = 0; i < queue.degree; ++i) z[i] = op(m, z[i], x[i], y[i]);
  });
}

}  // namespace

void copy(Queue& q, LimbView out, ConstLimbView x) noexcept {
  map(q, out, x, kAddCycles, [](const Modulus&, Word a) { return a; });
}

void zero(Queue& q, LimbView out) noexcept {
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, 1,
                  [&](std::size_t poly, std::size_t j) { std::fill_n(out.limb(poly, j), queue.degree, Word{0}); });
}

void monomial(Queue& q, LimbView out, std::uint64_t exponent) noexcept {
  zero(q, out);
  RefQueue& queue = ref_queue(q);
  for (std::uint32_t poly = 0; poly < out.polys; ++poly) {
    for (std::size_t j = 0; j < out.limbs.size(); ++j) {
      const Word minus_one = queue.moduli[out.limbs[j]].value() - 1;
      out.limb(poly, j)[exponent % queue.degree] = exponent < queue.degree ? 1 : minus_one;
    }
  }
}

void add(Queue& q, LimbView out, ConstLimbView a, ConstLimbView b) noexcept {
  zip(q, out, a, b, kAddCycles, [](const Modulus& m, Word, Word x, Word y) { return m.add(x, y); });
}

void sub(Queue& q, LimbView out, ConstLimbView a, ConstLimbView b) noexcept {
  zip(q, out, a, b, kAddCycles, [](const Modulus& m, Word, Word x, Word y) { return m.sub(x, y); });
}

void neg(Queue& q, LimbView out, ConstLimbView a) noexcept {
  map(q, out, a, kAddCycles, [](const Modulus& m, Word x) { return m.neg(x); });
}

void mul(Queue& q, LimbView out, ConstLimbView a, ConstLimbView b) noexcept {
  zip(q, out, a, b, kMulCycles, [](const Modulus& m, Word, Word x, Word y) { return m.mul(x, y); });
}

void mul_add(Queue& q, LimbView out, ConstLimbView a, ConstLimbView b) noexcept {
  zip(q, out, a, b, kMulCycles,
      [](const Modulus& m, Word z, Word x, Word y) { return m.reduce(static_cast<U128>(x) * y + z); });
}

void tensor_product(Queue& q, LimbView out, ConstLimbView a, ConstLimbView b) noexcept {
  const auto of = [](const auto& view, std::uint32_t poly) {
    auto one = view;
    one.base += poly * view.poly_stride;
    one.polys = 1;
    return one;
  };
  mul(q, of(out, 0), of(a, 0), of(b, 0));
  mul(q, of(out, 1), of(a, 0), of(b, 1));
  mul_add(q, of(out, 1), of(a, 1), of(b, 0));
  mul(q, of(out, 2), of(a, 1), of(b, 1));
}

void mul_scalar(Queue& q, LimbView out, ConstLimbView a, std::span<const Word> scalars) noexcept {
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, kMulCycles, [&](std::size_t poly, std::size_t j) {
    const Word prime = queue.moduli[out.limbs[j]].value();
    const ShoupFactor factor(scalars[j], prime);
    const Word* x = operand_limb(a, poly, j);
    Word* y = out.limb(poly, j);
    for (std::size_t i = 0; i < queue.degree; ++i) y[i] = factor.mul(x[i], prime);
  });
}

void add_scalar(Queue& q, LimbView out, ConstLimbView a, std::span<const Word> scalars) noexcept {
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, kAddCycles, [&](std::size_t poly, std::size_t j) {
    const Modulus m = queue.moduli[out.limbs[j]];
    const Word* x = operand_limb(a, poly, j);
    Word* y = out.limb(poly, j);
    for (std::size_t i = 0; i < queue.degree; ++i) y[i] = m.add(x[i], scalars[j]);
  });
}

void sub_scale(Queue& q, LimbView out, ConstLimbView a, ConstLimbView b, std::span<const Word> scalars) noexcept {
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, kMulCycles, [&](std::size_t poly, std::size_t j) {
    const Word prime = queue.moduli[out.limbs[j]].value();
    const ShoupFactor factor(scalars[j], prime);
    const Word *x = operand_limb(a, poly, j), *y = operand_limb(b, poly, j);
    Word* z = out.limb(poly, j);
    for (std::size_t i = 0; i < queue.degree; ++i) z[i] = factor.mul(x[i] - y[i] + prime, prime);
  });
}

void dot(Queue& q, LimbView out, std::span<const ConstLimbView> a, std::span<const ConstLimbView> b) noexcept {
  // Products are below 2^120, so a sum of 128 and a reduced remainder fits 128 bits.
  constexpr std::size_t kSafeTerms = 128;
  constexpr std::size_t kBlock = 256;
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, 1 + a.size() * 3, [&](std::size_t poly, std::size_t j) {
    const Modulus m = queue.moduli[out.limbs[j]];
    U128 sums[kBlock];
    for (std::size_t start = 0; start < queue.degree; start += kBlock) {
      const std::size_t size = std::min<std::size_t>(kBlock, queue.degree - start);
      std::fill_n(sums, size, U128{0});
      for (std::size_t term = 0; term < a.size(); ++term) {
        if (term % kSafeTerms == 0) {
          for (std::size_t i = 0; i < size; ++i) sums[i] = m.reduce(sums[i]);
        }
        const Word* x = operand_limb(a[term], poly, j) + start;
        const Word* y = operand_limb(b[term], poly, j) + start;
        for (std::size_t i = 0; i < size; ++i) sums[i] += static_cast<U128>(x[i]) * y[i];
      }
      Word* z = out.limb(poly, j) + start;
      for (std::size_t i = 0; i < size; ++i) z[i] = m.reduce(sums[i]);
    }
  });
}

void weighted_sum(Queue& q, LimbView out, std::span<const ConstLimbView> a, std::span<const Word> weights) noexcept {
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, a.size() * kMulCycles, [&](std::size_t poly, std::size_t j) {
    const Modulus& m = queue.moduli[out.limbs[j]];
    for (std::size_t i = 0; i < queue.degree; ++i) {
      const std::size_t half = i < queue.degree / 2 ? 0 : 1;
      Word sum = 0;
      for (std::size_t t = 0; t < a.size(); ++t) {
        sum = m.add(sum, m.mul(a[t].limb(poly, j)[i], weights[2 * (t * out.limbs.size() + j) + half]));
      }
      out.limb(poly, j)[i] = sum;
    }
  });
}

/// A sum of fewer than 2^42 products is below 2^126.
void integer_matmul(Queue& q, std::span<const LimbView> out, std::span<const ConstLimbView> a,
                    std::span<const std::int32_t> weights) noexcept {
  RefQueue& queue = ref_queue(q);
  for (std::size_t r = 0; r < out.size(); ++r) {
    queue.for_limbs(out[r], (1 + a.size()) * kMulCycles, [&](std::size_t poly, std::size_t j) {
      const Modulus& m = queue.moduli[out[r].limbs[j]];
      for (std::size_t i = 0; i < queue.degree; ++i) {
        I128 sum = 0;
        for (std::size_t t = 0; t < a.size(); ++t) {
          sum += static_cast<I128>(a[t].limb(poly, j)[i]) * weights[t * out.size() + r];
        }
        const Word residue = m.reduce(static_cast<U128>(sum < 0 ? -sum : sum));
        out[r].limb(poly, j)[i] = sum < 0 ? m.neg(residue) : residue;
      }
    });
  }
}

}  // namespace lw::ref
