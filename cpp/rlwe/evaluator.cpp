#include "rlwe/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rlwe/operand_checks.hpp"

namespace lw {

bool scales_match(double a, double b) noexcept { return std::isfinite(b) && std::abs(a - b) <= 0x1p-20 * std::abs(b); }

double divided_scale(const Parameters& parameters, double scale, std::span<const std::uint16_t> limbs) noexcept {
  if (parameters.is_bfv()) return scale;  // which is always 1: messages are relative to Q
  for (const std::uint16_t limb : limbs) scale /= static_cast<double>(parameters.prime(limb));
  return scale;
}

Ciphertext with_residues(const Ciphertext& x, std::shared_ptr<const RnsPolys> residues) {
  Ciphertext out = x;
  out.residues = std::move(residues);
  out.seed.reset();
  return out;
}

Ciphertext with_residues(const Ciphertext& x, RnsPolys residues) {
  return with_residues(x, std::make_shared<RnsPolys>(std::move(residues)));
}

void join_label(Ciphertext& result, const Ciphertext& operand) noexcept {
  if (result.key_set == KeySetId{}) result.key_set = operand.key_set;
  result.slots = std::max(result.slots, operand.slots);
  result.is_unproved |= operand.is_unproved;
}

void join_label(Ciphertext& result, const Plaintext& operand) noexcept {
  result.slots = std::max(result.slots, operand.slots);
  result.is_unproved |= operand.is_unproved;
}

void Evaluator::require_own(const Ciphertext& x, const char* op) const {
  check_context(x.parameters, *x.residues, context_, std::string(op) + ": the ciphertext");
  if (x.secret == SecretKind::kMain) return;
  fail(ErrorKind::kShape, op, "the ciphertext is under the sparse secret; mod_raise it first");
}

void Evaluator::require_alike(const Ciphertext& a, const Ciphertext& b, const char* op) const {
  require_own(a, op);
  require_own(b, op);
  check_key_set(b.key_set, a.key_set, std::string(op) + ": the second operand");
  require_encoding(a.encoding, b.encoding, op);
  require_same_place(a.level, a.basis, b.level, b.basis, op);
}

void Evaluator::require_plain(const Ciphertext& x, const Plaintext& p, const char* op) const {
  require_own(x, op);
  check_context(p.parameters, *p.residues, context_, std::string(op) + ": the plaintext");
  require_encoding(x.encoding, p.encoding, op);
  require_same_place(x.level, x.basis, p.level, p.basis, op);
}

std::shared_ptr<RnsPolys> Evaluator::residues_like(const Ciphertext& x) const {
  if (x.residues.use_count() == 1 && x.residues->is_sole_owner()) return std::const_pointer_cast<RnsPolys>(x.residues);
  return std::make_shared<RnsPolys>(context_.ring(), x.residues->limbs(), x.residues->polys());
}

Ciphertext Evaluator::combine(Ciphertext a, const Ciphertext& b, bool is_sub) const {
  const char* op = is_sub ? "sub" : "add";
  require_alike(a, b, op);
  require_scale(b.scale, a.scale, op);
  const Ring& ring = context_.ring();
  const Kernels& kernels = ring.kernels();
  const std::size_t limbs = a.residues->limbs().size();
  const std::uint32_t common = std::min(a.degree(), b.degree()) + 1;
  const Ciphertext& longer = a.degree() >= b.degree() ? a : b;
  const std::shared_ptr<RnsPolys> out =
      &longer == &a ? residues_like(a) : std::make_shared<RnsPolys>(ring, a.residues->limbs(), longer.degree() + 1);
  (is_sub ? kernels.sub : kernels.add)(ring.queue(), out->view(0, common, 0, limbs),
                                       std::as_const(*a.residues).view(0, common, 0, limbs),
                                       b.residues->view(0, common, 0, limbs));
  for (std::uint32_t p = common; p <= longer.degree(); ++p) {
    if (is_sub && &longer == &b) {
      kernels.neg(ring.queue(), out->view(p, 1, 0, limbs), b.residues->view(p, 1, 0, limbs));
    } else if (out != longer.residues) {
      copy_limbs(ring, *out, p, *longer.residues, p);
    }
  }
  Ciphertext result = with_residues(a, out);
  join_label(result, b);
  return result;
}

Ciphertext Evaluator::add(Ciphertext a, const Ciphertext& b) const { return combine(std::move(a), b, false); }

Ciphertext Evaluator::sub(Ciphertext a, const Ciphertext& b) const { return combine(std::move(a), b, true); }

Ciphertext Evaluator::neg(Ciphertext x) const {
  require_own(x, "neg");
  const std::shared_ptr<RnsPolys> out = residues_like(x);
  context_.ring().kernels().neg(context_.ring().queue(), out->view(), x.residues->view());
  return with_residues(x, out);
}

Ciphertext Evaluator::combine_plain(Ciphertext x, const Plaintext& p, bool is_sub) const {
  const char* op = is_sub ? "sub_plain" : "add_plain";
  require_plain(x, p, op);
  require_scale(p.scale, x.scale, op);
  const Ring& ring = context_.ring();
  const std::size_t limbs = x.residues->limbs().size();
  const std::shared_ptr<RnsPolys> out = residues_like(x);
  (is_sub ? ring.kernels().sub : ring.kernels().add)(ring.queue(), out->view(0, 1, 0, limbs),
                                                     x.residues->view(0, 1, 0, limbs), p.residues->view());
  for (std::uint32_t i = 1; i <= x.degree() && out != x.residues; ++i) copy_limbs(ring, *out, i, *x.residues, i);
  Ciphertext result = with_residues(x, out);
  join_label(result, p);
  return result;
}

Ciphertext Evaluator::add_plain(Ciphertext x, const Plaintext& p) const {
  return combine_plain(std::move(x), p, false);
}

Ciphertext Evaluator::sub_plain(Ciphertext x, const Plaintext& p) const { return combine_plain(std::move(x), p, true); }

Ciphertext Evaluator::mul_plain(Ciphertext x, const Plaintext& p) const {
  require_plain(x, p, "mul_plain");
  const std::shared_ptr<RnsPolys> out = residues_like(x);
  context_.ring().kernels().mul(context_.ring().queue(), out->view(), x.residues->view(), p.residues->view());
  Ciphertext result = with_residues(x, out);
  result.scale = x.scale * p.scale;
  join_label(result, p);
  return result;
}

Ciphertext Evaluator::dot_plain(std::span<const Ciphertext* const> x, std::span<const Plaintext* const> p) const {
  const char* op = "dot_plain";
  if (x.empty() || x.size() != p.size()) fail(ErrorKind::kValue, op, "needs pairs of a ciphertext and a plaintext");
  const double scale = x[0]->scale * p[0]->scale;
  Ciphertext result = *x[0];
  std::vector<ConstLimbView> left, right;
  for (std::size_t k = 0; k < x.size(); ++k) {
    require_alike(*x[0], *x[k], op);
    require_plain(*x[k], *p[k], op);
    require_degree(x[k]->degree(), x[0]->degree(), x[0]->degree(), op);
    require_scale(x[k]->scale * p[k]->scale, scale, op);
    left.push_back(x[k]->residues->view());
    right.push_back(p[k]->residues->view());
    join_label(result, *x[k]);
    join_label(result, *p[k]);
  }
  const Ring& ring = context_.ring();
  RnsPolys out(ring, x[0]->residues->limbs(), x[0]->residues->polys());
  ring.kernels().dot(ring.queue(), out.view(), left, right);
  result = with_residues(result, std::move(out));
  result.scale = scale;
  return result;
}

Ciphertext Evaluator::mul_int(Ciphertext x, std::int64_t factor, double scale) const {
  require_own(x, "mul_int");
  const Ring& ring = context_.ring();
  const std::shared_ptr<RnsPolys> out = residues_like(x);
  ring.kernels().mul_scalar(ring.queue(), out->view(), x.residues->view(), ring.residues(factor, x.residues->limbs()));
  Ciphertext result = with_residues(x, out);
  result.scale = scale;
  return result;
}

Ciphertext Evaluator::add_int(Ciphertext x, std::int64_t addend) const {
  require_own(x, "add_int");
  require_basis(x, Basis::kQ, "add_int");
  const Ring& ring = context_.ring();
  const std::size_t limbs = x.residues->limbs().size();
  const std::shared_ptr<RnsPolys> out = residues_like(x);
  ring.kernels().add_scalar(ring.queue(), out->view(0, 1, 0, limbs), x.residues->view(0, 1, 0, limbs),
                            ring.residues(addend, x.residues->limbs()));
  for (std::uint32_t i = 1; i <= x.degree() && out != x.residues; ++i) copy_limbs(ring, *out, i, *x.residues, i);
  return with_residues(x, out);
}

Ciphertext Evaluator::mul_monomial(Ciphertext x, std::uint64_t exponent) const {
  require_own(x, "mul_monomial");
  const Ring& ring = context_.ring();
  const std::uint64_t n = ring.degree();
  if (exponent >= 2 * n) {
    fail(ErrorKind::kValue, "mul_monomial",
         "exponent " + std::to_string(exponent) + " is not below 2N = " + std::to_string(2 * n));
  }
  if (exponent % (n / 2) == 0) {  // a root of unity on slots
    static constexpr std::int64_t kReal[] = {1, 0, -1, 0}, kImaginary[] = {0, 1, 0, -1};
    const std::uint64_t turns = exponent / (n / 2);
    const double scale = x.scale;
    std::vector<WeightedCiphertext> term;
    term.push_back({std::move(x), kReal[turns], kImaginary[turns]});
    return weighted_sum(std::move(term), scale);
  }
  RnsPolys monomial(ring, x.residues->limbs(), 1);
  ring.kernels().monomial(ring.queue(), monomial.view(), exponent);
  ring.kernels().ntt(ring.queue(), monomial.view(), monomial.view());
  const std::shared_ptr<RnsPolys> out = residues_like(x);
  ring.kernels().mul(ring.queue(), out->view(), x.residues->view(), std::as_const(monomial).view());
  return with_residues(x, out);
}

Ciphertext Evaluator::weighted_sum(std::vector<WeightedCiphertext> terms, double scale) const {
  const char* op = "weighted_sum";
  if (terms.empty() || terms.size() > kMostAliasedTerms) {
    fail(ErrorKind::kValue, op,
         std::to_string(terms.size()) + " terms; 1 to " + std::to_string(kMostAliasedTerms) + " are summed");
  }
  // The longest comes first, so that the result may take its place.
  const auto longer = [](const WeightedCiphertext& a, const WeightedCiphertext& b) {
    const auto rank = [](const Ciphertext& x) {
      return std::pair(x.degree(), x.residues.use_count() == 1 && x.residues->is_sole_owner());
    };
    return rank(a.x) > rank(b.x);
  };
  std::stable_sort(terms.begin(), terms.end(), longer);
  const Ring& ring = context_.ring();
  const LimbList& limbs = terms[0].x.residues->limbs();
  std::vector<Word> weights;
  Ciphertext result = terms[0].x;
  for (const WeightedCiphertext& term : terms) {
    require_alike(terms[0].x, term.x, op);
    join_label(result, term.x);
    const std::vector<Word> both = ring.half_weights(term.real, term.imaginary, limbs);
    weights.insert(weights.end(), both.begin(), both.end());
  }
  result.residues.reset();
  const std::shared_ptr<RnsPolys> out = residues_like(terms[0].x);
  const auto summed = [&](std::uint32_t first, std::uint32_t polys, std::size_t count) {
    std::vector<ConstLimbView> views;
    for (std::size_t t = 0; t < count; ++t) {
      views.push_back(std::as_const(*terms[t].x.residues).view(first, polys, 0, limbs.size()));
    }
    ring.kernels().weighted_sum(ring.queue(), out->view(first, polys, 0, limbs.size()), views,
                                std::span(weights).first(2 * count * limbs.size()));
  };
  // Polys that as many terms have, together.
  std::size_t count = terms.size();
  for (std::uint32_t first = 0; first <= terms[0].x.degree();) {
    const std::uint32_t end = terms[count - 1].x.degree() + 1;
    if (end > first) summed(first, end - first, count);
    first = end;
    while (count > 1 && terms[count - 1].x.degree() < first) --count;
  }
  result = with_residues(result, out);
  result.scale = scale;
  return result;
}

Ciphertext Evaluator::drop_level(const Ciphertext& x, Level to) const {
  require_own(x, "drop_level");
  require_downward(x.level, to, context_.parameters(), "drop_level");
  if (x.basis == Basis::kQP && !context_.parameters().serves(x.level, to)) {
    fail(ErrorKind::kLevel, "drop_level",
         "values over QP have other special primes at " + to_string(to) + " than at " + to_string(x.level) +
             "; mod_down first");
  }
  // Limb numbers ascend along a track, after the P limbs if there are any: a lower level is a prefix.
  Ciphertext result = with_residues(x, x.residues->prefix(context_.limbs(to, x.basis).size()));
  result.level = to;
  return result;
}

Ciphertext Evaluator::mod_down(const Ciphertext& x, Level to, double scale) const {
  require_own(x, "mod_down");
  require_downward(x.level, to, context_.parameters(), "mod_down");
  require_scale(divided_scale(context_.parameters(), x.scale, context_.parameters().dropped(x.level, to)), scale,
                "mod_down");
  if (x.basis == Basis::kQ && x.level == to) return relabel(x, to, scale, x.slots);
  Ciphertext result = with_residues(x, lw::mod_down(context_.ring(), *x.residues, context_.parameters().basis(to)));
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
  check_context(p.parameters, *p.residues, context_, "trivial: the plaintext");
  const Ring& ring = context_.ring();
  RnsPolys out(ring, p.residues->limbs(), 2);
  copy_limbs(ring, out, 0, *p.residues, 0);
  ring.kernels().zero(ring.queue(), out.view(1, 1, 0, p.residues->limbs().size()));
  Ciphertext result{
      std::make_shared<const RnsPolys>(std::move(out)), p.level, p.basis, p.scale, p.slots, {}, p.parameters};
  result.encoding = p.encoding;
  result.is_unproved = p.is_unproved;
  return result;
}

Ciphertext Evaluator::relabel(const Ciphertext& x, Level level, double scale, std::uint32_t slots) const {
  require_own(x, "relabel");
  if (context_.limbs(level, x.basis) != x.residues->limbs()) {
    fail(ErrorKind::kLevel, "relabel", to_string(level) + " has other limbs than " + to_string(x.level));
  }
  Ciphertext result = x;
  result.level = level;
  result.scale = scale;
  result.slots = slots;
  return result;
}

}  // namespace lw
