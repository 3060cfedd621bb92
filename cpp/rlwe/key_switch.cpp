#include "rlwe/key_switch.hpp"

#include <algorithm>
#include <array>

namespace lw {
namespace {

void copy_rows(const Ring& ring, Rows to, ConstRows from) {
  for (std::uint32_t p = 0; p < to.polys; ++p) {
    for (std::size_t j = 0; j < to.limbs.size(); ++j) {
      ring.device().copy(ring.queue(), to.row(p, j), from.row(p, j), ring.degree() * sizeof(Word));
    }
  }
}

/// Limbs of `held` that are not in `kept`, ascending.
LimbList without(const LimbList& held, const LimbList& kept) {
  LimbList rest;
  for (const std::uint16_t limb : held) {
    if (std::find(kept.begin(), kept.end(), limb) == kept.end()) rest.push_back(limb);
  }
  std::sort(rest.begin(), rest.end());
  return rest;
}

/// Lifts one digit into rows [first, first + count) of its extended poly and transforms them.
void lift_digit(const Ring& ring, PolyRows& out, std::uint32_t d, std::size_t first, std::size_t count,
                ConstRows digit) {
  if (count == 0) return;
  const Rows rows = out.rows(d, 1, first, count);
  ring.kernels().lift(ring.queue(), rows, digit, ring.lift_table(digit.limbs, rows.limbs));
  ring.kernels().ntt(ring.queue(), rows);
}

}  // namespace

void copy_limbs(const Ring& ring, PolyRows& to, std::uint32_t to_poly, const PolyRows& from, std::uint32_t from_poly) {
  for (const Run& run : find_runs(from.limbs(), to.limbs())) {
    copy_rows(ring, to.rows(to_poly, 1, run.first_out, run.count), from.rows(from_poly, 1, run.first_in, run.count));
  }
}

PolyRows decompose(const Ring& ring, ConstRows x) {
  PolyRows coefficients(ring, LimbList(x.limbs.begin(), x.limbs.end()), x.polys);
  copy_rows(ring, coefficients.rows(), x);
  ring.kernels().intt(ring.queue(), coefficients.rows());
  return coefficients;
}

PolyRows mod_up(const Context& context, Level level, ConstRows ntt, ConstRows coefficients, const Tick& tick) {
  const Ring& ring = context.ring();
  const LimbList limbs = context.limbs(level, Basis::kQP);
  const std::size_t num_p = context.parameters().num_p();
  const std::vector<DigitPart> parts = digit_parts(context.parameters(), coefficients.limbs);
  PolyRows out(ring, limbs, static_cast<std::uint32_t>(parts.size()));
  std::size_t first = 0;  // of the digit among the Q limbs: digits are stretches of them
  for (std::uint32_t d = 0; d < parts.size(); ++d) {
    const std::size_t count = parts[d].limbs.size(), end = num_p + first + count;
    const ConstRows digit(coefficients.row(0, first), coefficients.stride, coefficients.poly_stride, parts[d].limbs, 1);
    const ConstRows own(ntt.row(0, first), ntt.stride, ntt.poly_stride, parts[d].limbs, 1);
    lift_digit(ring, out, d, 0, num_p + first, digit);
    copy_rows(ring, out.rows(d, 1, num_p + first, count), own);
    lift_digit(ring, out, d, end, limbs.size() - end, digit);
    first += count;
    call(tick);
  }
  return out;
}

PolyRows inner_product(const Context& context, const PolyRows& digits, std::span<const std::uint32_t> digit_numbers,
                       const EvaluationKey& key, const Tick& tick) {
  const Ring& ring = context.ring();
  PolyRows out(ring, digits.limbs(), 2);
  for (const Run& run : find_runs(key.b->limbs(), digits.limbs())) {
    std::vector<ConstRows> left;
    std::array<std::vector<ConstRows>, 2> right;
    for (std::uint32_t d = 0; d < digits.polys(); ++d) {
      const auto place = std::find(key.digits.begin(), key.digits.end(), digit_numbers[d]);
      const std::uint32_t at = static_cast<std::uint32_t>(place - key.digits.begin());
      left.push_back(digits.rows(d, 1, run.first_out, run.count));
      right[0].push_back(key.b->rows(at, 1, run.first_in, run.count));
      right[1].push_back(key.a->rows(at, 1, run.first_in, run.count));
    }
    for (std::uint32_t half = 0; half < 2; ++half) {
      ring.kernels().dot(ring.queue(), out.rows(half, 1, run.first_out, run.count), left, right[half]);
      call(tick);
    }
  }
  return out;
}

PolyRows mod_down(const Ring& ring, const PolyRows& x, const LimbList& to) {
  const LimbList from = without(x.limbs(), to);
  PolyRows removed(ring, from, x.polys()), lifted(ring, to, x.polys());
  for (std::uint32_t p = 0; p < x.polys(); ++p) copy_limbs(ring, removed, p, x, p);
  ring.kernels().intt(ring.queue(), removed.rows());
  ring.kernels().lift(ring.queue(), lifted.rows(), std::as_const(removed).rows(), ring.lift_table(from, to));
  ring.kernels().ntt(ring.queue(), lifted.rows());
  const std::vector<Word> inverse = ring.inverse_product_mod(from, to);
  for (const Run& run : find_runs(x.limbs(), to)) {
    const Rows out = lifted.rows(0, x.polys(), run.first_out, run.count);
    ring.kernels().sub_scale(ring.queue(), out, x.rows(0, x.polys(), run.first_in, run.count), out,
                             std::span(inverse).subspan(run.first_out, run.count));
  }
  return lifted;
}

}  // namespace lw
