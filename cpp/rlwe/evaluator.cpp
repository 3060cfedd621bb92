#include "rlwe/evaluator.hpp"

#include <algorithm>
#include <cmath>

#include "math/error.hpp"

namespace lw {
namespace {

[[noreturn]] void fail(ErrorKind kind, const char* op, const std::string& what) {
  throw Error(kind, std::string(op) + ": " + what);
}

std::string scale_text(double scale) { return "2^" + std::to_string(std::log2(scale)); }

const char* basis_text(Basis basis) { return basis == Basis::kQ ? "Q" : "QP"; }

void require_scale(double found, double wanted, const char* op) {
  if (!scales_match(found, wanted)) {
    fail(ErrorKind::kScale, op,
         "scales differ (" + scale_text(found) + " and " + scale_text(wanted) + "); rescale or relabel one of them");
  }
}

void require_same_place(Level a, Basis a_basis, Level b, Basis b_basis, const char* op) {
  if (a == b && a_basis == b_basis) return;
  fail(ErrorKind::kLevel, op,
       "operands are at " + to_string(a) + " over " + basis_text(a_basis) + " and " + to_string(b) + " over " +
           basis_text(b_basis) + "; bring both to one level first");
}

void require_basis(const Ciphertext& x, Basis basis, const char* op) {
  if (x.basis != basis) {
    fail(ErrorKind::kShape, op,
         std::string("the operand is over ") + basis_text(x.basis) + ", not over " + basis_text(basis) +
             (basis == Basis::kQ ? "; mod_down it first" : ""));
  }
}

void require_degree(std::uint32_t degree, std::uint32_t low, std::uint32_t high, const char* op) {
  if (degree >= low && degree <= high) return;
  fail(ErrorKind::kShape, op,
       "the operand has degree " + std::to_string(degree) + ", not " + std::to_string(low) +
           (low == high ? "" : " to " + std::to_string(high)));
}

void require_downward(Level from, Level to, const Parameters& parameters, const char* op) {
  parameters.require_level(to);
  if (from.track != to.track || to.index > from.index) {
    fail(ErrorKind::kLevel, op, "there is no way down from " + to_string(from) + " to " + to_string(to));
  }
}

}  // namespace

bool scales_match(double a, double b) noexcept { return std::abs(a - b) <= 0x1p-20 * std::abs(b); }

double divided_scale(const Parameters& parameters, double scale, std::span<const std::uint16_t> limbs) noexcept {
  if (parameters.is_bfv()) return scale;  // which is always 1: messages are relative to Q
  for (const std::uint16_t limb : limbs) scale /= static_cast<double>(parameters.prime(limb));
  return scale;
}

Ciphertext with_rows(const Ciphertext& x, PolyRows rows) {
  Ciphertext out = x;
  out.rows = std::make_shared<const PolyRows>(std::move(rows));
  out.seed.reset();
  return out;
}

KeySetId joint_key_set(const Ciphertext& a, const Ciphertext& b) noexcept {
  return a.key_set == KeySetId{} ? b.key_set : a.key_set;
}

void Evaluator::require_own(const Ciphertext& x, const char* op) const {
  check_parameters(x.parameters, context_.parameters(), std::string(op) + ": the ciphertext");
}

void Evaluator::require_alike(const Ciphertext& a, const Ciphertext& b, const char* op) const {
  require_own(a, op);
  require_own(b, op);
  check_key_set(b.key_set, a.key_set, std::string(op) + ": the second operand");
  require_same_place(a.level, a.basis, b.level, b.basis, op);
}

void Evaluator::require_key(const Ciphertext& x, const EvaluationKey& key, KeyKind kind, const char* op) const {
  if (key.spec.kind != kind) fail(ErrorKind::kMissingKey, op, "this is the " + describe(key.spec, context_.degree()));
  check_key_set(x.key_set, key.id, std::string(op) + ": the ciphertext");
  if (find_runs(key.b->limbs(), context_.limbs(x.level, Basis::kQP)).empty()) {
    fail(ErrorKind::kMissingKey, op,
         describe(key.spec, context_.degree()) + " reaches " + to_string(key.spec.level) + "; the ciphertext is at " +
             to_string(x.level));
  }
}

void Evaluator::require_plain(const Ciphertext& x, const Plaintext& p, const char* op) const {
  require_own(x, op);
  check_parameters(p.parameters, context_.parameters(), std::string(op) + ": the plaintext");
  require_same_place(x.level, x.basis, p.level, p.basis, op);
}

Ciphertext Evaluator::combine(const Ciphertext& a, const Ciphertext& b, bool is_sub) const {
  const char* op = is_sub ? "sub" : "add";
  require_alike(a, b, op);
  require_scale(b.scale, a.scale, op);
  const Ring& ring = context_.ring();
  const Kernels& kernels = ring.kernels();
  const std::size_t limbs = a.rows->limbs().size();
  const std::uint32_t common = std::min(a.degree(), b.degree()) + 1;
  const Ciphertext& longer = a.degree() >= b.degree() ? a : b;
  PolyRows out(ring, a.rows->limbs(), longer.degree() + 1);
  (is_sub ? kernels.sub : kernels.add)(ring.queue(), out.rows(0, common, 0, limbs), a.rows->rows(0, common, 0, limbs),
                                       b.rows->rows(0, common, 0, limbs));
  for (std::uint32_t p = common; p <= longer.degree(); ++p) {
    copy_limbs(ring, out, p, *longer.rows, p);
    if (is_sub && &longer == &b) {
      const Rows rest = out.rows(p, 1, 0, limbs);
      kernels.neg(ring.queue(), rest, rest);
    }
  }
  Ciphertext result = with_rows(a, std::move(out));
  result.key_set = joint_key_set(a, b);
  result.slots = std::max(a.slots, b.slots);
  return result;
}

Ciphertext Evaluator::add(const Ciphertext& a, const Ciphertext& b) const { return combine(a, b, false); }

Ciphertext Evaluator::sub(const Ciphertext& a, const Ciphertext& b) const { return combine(a, b, true); }

Ciphertext Evaluator::neg(const Ciphertext& x) const {
  require_own(x, "neg");
  PolyRows out(context_.ring(), x.rows->limbs(), x.rows->polys());
  context_.ring().kernels().neg(context_.ring().queue(), out.rows(), x.rows->rows());
  return with_rows(x, std::move(out));
}

Ciphertext Evaluator::combine_plain(const Ciphertext& x, const Plaintext& p, bool is_sub) const {
  const char* op = is_sub ? "sub_plain" : "add_plain";
  require_plain(x, p, op);
  require_scale(p.scale, x.scale, op);
  const Ring& ring = context_.ring();
  const std::size_t limbs = x.rows->limbs().size();
  PolyRows out(ring, x.rows->limbs(), x.rows->polys());
  (is_sub ? ring.kernels().sub : ring.kernels().add)(ring.queue(), out.rows(0, 1, 0, limbs),
                                                     x.rows->rows(0, 1, 0, limbs), p.rows->rows());
  for (std::uint32_t i = 1; i <= x.degree(); ++i) copy_limbs(ring, out, i, *x.rows, i);
  Ciphertext result = with_rows(x, std::move(out));
  result.slots = std::max(x.slots, p.slots);
  return result;
}

Ciphertext Evaluator::add_plain(const Ciphertext& x, const Plaintext& p) const { return combine_plain(x, p, false); }

Ciphertext Evaluator::sub_plain(const Ciphertext& x, const Plaintext& p) const { return combine_plain(x, p, true); }

Ciphertext Evaluator::mul_plain(const Ciphertext& x, const Plaintext& p) const {
  require_plain(x, p, "mul_plain");
  PolyRows out(context_.ring(), x.rows->limbs(), x.rows->polys());
  context_.ring().kernels().mul(context_.ring().queue(), out.rows(), x.rows->rows(), p.rows->rows());
  Ciphertext result = with_rows(x, std::move(out));
  result.scale = x.scale * p.scale;
  result.slots = std::max(x.slots, p.slots);
  return result;
}

Ciphertext Evaluator::mul_int(const Ciphertext& x, std::int64_t factor, double scale) const {
  require_own(x, "mul_int");
  const Ring& ring = context_.ring();
  PolyRows out(ring, x.rows->limbs(), x.rows->polys());
  ring.kernels().mul_scalar(ring.queue(), out.rows(), x.rows->rows(), ring.residues(factor, x.rows->limbs()));
  Ciphertext result = with_rows(x, std::move(out));
  result.scale = scale;
  return result;
}

Ciphertext Evaluator::add_int(const Ciphertext& x, std::int64_t addend) const {
  require_own(x, "add_int");
  require_basis(x, Basis::kQ, "add_int");
  const Ring& ring = context_.ring();
  const std::size_t limbs = x.rows->limbs().size();
  PolyRows out(ring, x.rows->limbs(), x.rows->polys());
  ring.kernels().add_scalar(ring.queue(), out.rows(0, 1, 0, limbs), x.rows->rows(0, 1, 0, limbs),
                            ring.residues(addend, x.rows->limbs()));
  for (std::uint32_t i = 1; i <= x.degree(); ++i) copy_limbs(ring, out, i, *x.rows, i);
  return with_rows(x, std::move(out));
}

Ciphertext Evaluator::drop_level(const Ciphertext& x, Level to) const {
  require_own(x, "drop_level");
  require_downward(x.level, to, context_.parameters(), "drop_level");
  PolyRows out(context_.ring(), context_.limbs(to, x.basis), x.rows->polys());
  for (std::uint32_t i = 0; i <= x.degree(); ++i) copy_limbs(context_.ring(), out, i, *x.rows, i);
  Ciphertext result = with_rows(x, std::move(out));
  result.level = to;
  return result;
}

Ciphertext Evaluator::mod_down(const Ciphertext& x, Level to, double scale) const {
  require_own(x, "mod_down");
  require_downward(x.level, to, context_.parameters(), "mod_down");
  require_scale(divided_scale(context_.parameters(), x.scale, context_.parameters().dropped(x.level, to)), scale,
                "mod_down");
  if (x.basis == Basis::kQ && x.level == to) return relabel(x, to, scale, x.slots);
  Ciphertext result = with_rows(x, lw::mod_down(context_.ring(), *x.rows, context_.parameters().basis(to)));
  result.level = to;
  result.basis = Basis::kQ;
  result.scale = scale;
  return result;
}

Ciphertext Evaluator::rescale(const Ciphertext& x) const {
  if (context_.parameters().is_bfv()) {
    fail(ErrorKind::kParameterMismatch, "rescale", "BFV ciphertexts have no scale; use mod_switch");
  }
  if (x.level.index == 0) fail(ErrorKind::kLevel, "rescale", "the ciphertext is at level 0, the last one");
  const Level to{x.level.track, x.level.index - 1};
  return mod_down(x, to, divided_scale(context_.parameters(), x.scale, context_.parameters().dropped(x.level, to)));
}

Ciphertext Evaluator::trivial(const Plaintext& p) const {
  check_parameters(p.parameters, context_.parameters(), "trivial: the plaintext");
  const Ring& ring = context_.ring();
  PolyRows out(ring, p.rows->limbs(), 2);
  const Rows zero = out.rows(1, 1, 0, p.rows->limbs().size());
  copy_limbs(ring, out, 0, *p.rows, 0);
  ring.kernels().sub(ring.queue(), zero, p.rows->rows(), p.rows->rows());
  return {std::make_shared<const PolyRows>(std::move(out)), p.level, p.basis, p.scale, p.slots, {}, p.parameters, {}};
}

Ciphertext Evaluator::relabel(const Ciphertext& x, Level level, double scale, std::uint32_t slots) const {
  require_own(x, "relabel");
  if (context_.limbs(level, x.basis) != x.rows->limbs()) {
    fail(ErrorKind::kLevel, "relabel", to_string(level) + " has other limbs than " + to_string(x.level));
  }
  Ciphertext result = x;
  result.level = level;
  result.scale = scale;
  result.slots = slots;
  return result;
}

Digits Evaluator::hoist(const Ciphertext& x) const {
  require_own(x, "hoist");
  require_basis(x, Basis::kQ, "hoist");
  require_degree(x.degree(), 1, 2, "hoist");
  const ConstRows last = x.rows->rows(x.degree(), 1, 0, x.rows->limbs().size());
  const PolyRows coefficients = decompose(context_.ring(), last);
  return {x, std::make_shared<const PolyRows>(mod_up(context_, x.level, last, coefficients.rows(), tick_))};
}

Ciphertext Evaluator::key_product(const Digits& digits, const EvaluationKey& key) const {
  const Ciphertext& x = digits.source;
  const bool is_galois = key.spec.kind == KeyKind::kGalois;
  require_own(x, "key_product");
  require_degree(x.degree(), is_galois ? 1 : 2, is_galois ? 1 : 2, is_galois ? "rotate" : "relinearize");
  check_key_set(x.key_set, key.id, "key_product: the ciphertext");
  if (find_runs(key.b->limbs(), digits.extended->limbs()).empty()) {
    throw Error(ErrorKind::kMissingKey, describe(key.spec, context_.degree()) + " reaches " +
                                            to_string(key.spec.level) + "; the ciphertext is at " + to_string(x.level));
  }
  const Ring& ring = context_.ring();
  const Kernels& kernels = ring.kernels();
  std::vector<std::uint32_t> numbers;
  for (const DigitPart& part : digit_parts(context_.parameters(), x.rows->limbs())) numbers.push_back(part.number);
  PolyRows out = inner_product(context_, *digits.extended, numbers, key, tick_);

  const LimbList& q = x.rows->limbs();
  PolyRows lower(ring, q, x.degree());  // c0, or c0 and c1, times P
  kernels.mul_scalar(ring.queue(), lower.rows(), x.rows->rows(0, x.degree(), 0, q.size()),
                     ring.product_mod(context_.parameters().all_p(), q));
  const Rows onto = out.rows(0, x.degree(), context_.parameters().num_p(), q.size());
  kernels.add(ring.queue(), onto, onto, lower.rows());
  if (is_galois) {
    PolyRows turned(ring, out.limbs(), 2);
    kernels.automorphism(ring.queue(), turned.rows(), out.rows(), key.spec.galois_element);
    out = std::move(turned);
  }
  Ciphertext result = with_rows(x, std::move(out));
  result.basis = Basis::kQP;
  result.key_set = key.id;
  return result;
}

Ciphertext Evaluator::key_switch(const Ciphertext& x, const EvaluationKey& key) const {
  return mod_down(key_product(hoist(x), key), x.level, x.scale);
}

Ciphertext Evaluator::rotate(const Ciphertext& x, const EvaluationKey& key) const {
  require_degree(x.degree(), 1, 1, "rotate");
  if (key.spec.kind != KeyKind::kGalois) fail(ErrorKind::kMissingKey, "rotate", "needs a galois key");
  return key_switch(x, key);
}

Ciphertext Evaluator::relinearize(const Ciphertext& x, const EvaluationKey& key) const {
  require_degree(x.degree(), 2, 2, "relinearize");
  if (key.spec.kind != KeyKind::kRelin) fail(ErrorKind::kMissingKey, "relinearize", "needs a relinearisation key");
  return key_switch(x, key);
}

}  // namespace lw
