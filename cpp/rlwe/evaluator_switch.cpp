// The evaluator's key switches: rotations, relinearisation, the sums of linear transforms, and the two steps of
// bootstrapping that change the secret.
#include <algorithm>

#include "rlwe/operand_checks.hpp"

namespace lw {
namespace {

Ciphertext over_qp(const Ciphertext& x, RnsPolys residues, const KeySetId& id) {
  Ciphertext result = with_residues(x, std::move(residues));
  result.basis = Basis::kQP;
  result.key_set = id;
  return result;
}

SwitchOperand operand_of(const Context& context, const Digits& digits) {
  return digits.extended == nullptr ? SwitchOperand(context, digits.source) : SwitchOperand(context, digits);
}

}  // namespace

void Evaluator::require_keys(const Ciphertext& x, const SwitchKeys& keys, KeyKind kind, Level level,
                             const char* op) const {
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const KeySpec& spec = keys.spec(k);
    if (spec.kind != kind) {
      fail(ErrorKind::kMissingKey, op,
           std::string("needs a ") + kind_name(kind) + " key, got the " + describe(spec, context_.degree()));
    }
    if (!context_.parameters().serves(spec.level, level)) {
      throw Error(ErrorKind::kMissingKey, describe(spec, context_.degree()) + " reaches " + to_string(spec.level) +
                                              "; " + op + " needs it at " + to_string(level));
    }
  }
  if (keys.size() == 0) return;
  check_key_set(x.key_set, keys.id(), std::string(op) + ": the ciphertext");
  keys.check(context_, std::string(op) + ": the key");
}

void Evaluator::require_key(const Ciphertext& x, const SwitchKeys& key, KeyKind kind, Level level,
                            const char* op) const {
  if (key.size() != 1) fail(ErrorKind::kValue, op, "needs one key, got " + std::to_string(key.size()));
  require_keys(x, key, kind, level, op);
}

Ciphertext Evaluator::extend(const Ciphertext& x) const {
  require_own(x, "extend");
  require_basis(x, Basis::kQ, "extend");
  const Ring& ring = context_.ring();
  const LimbList& q = x.residues->limbs();
  const LimbList special = context_.parameters().special(q);
  RnsPolys out(ring, context_.limbs(x.level, Basis::kQP), x.residues->polys());
  ring.kernels().zero(ring.queue(), out.view(0, out.polys(), 0, special.size()));
  ring.kernels().mul_scalar(ring.queue(), out.view(0, out.polys(), special.size(), q.size()), x.residues->view(),
                            ring.product_mod(special, q));
  return over_qp(x, std::move(out), x.key_set);
}

Digits Evaluator::hoist(const Ciphertext& x, bool store) const {
  require_own(x, "hoist");
  require_basis(x, Basis::kQ, "hoist");
  require_degree(x.degree(), 1, 2, "hoist");
  return {x, store ? std::make_shared<const RnsPolys>(extend_digits(context_, x, tick_)) : nullptr};
}

Ciphertext Evaluator::key_product(const Digits& digits, const SwitchKeys& key) const {
  const Ciphertext& x = digits.source;
  const bool is_galois = key.spec(0).kind == KeyKind::kGalois;
  const char* op = is_galois ? "rotate" : "relinearize";
  require_own(x, "key_product");
  require_degree(x.degree(), is_galois ? 1 : 2, is_galois ? 1 : 2, op);
  if (is_galois) require_slots(x, op);
  require_key(x, key, is_galois ? KeyKind::kGalois : KeyKind::kRelin, x.level, op);
  return over_qp(x, std::move(key_switch(context_, operand_of(context_, digits), key, tick_)[0]), key.id());
}

Ciphertext Evaluator::apply_switch_key(const Ciphertext& x, const SwitchKeys& key, std::optional<Level> to) const {
  const SwitchOperand operand(context_, x);
  call(tick_);
  const Ciphertext product = over_qp(x, std::move(key_switch(context_, operand, key, tick_)[0]), key.id());
  call(tick_);
  const Level level = to.value_or(x.level);
  return mod_down(product, level,
                  divided_scale(context_.parameters(), x.scale, context_.parameters().dropped(x.level, level)));
}

Ciphertext Evaluator::rotate(const Ciphertext& x, const SwitchKeys& key, std::optional<Level> to) const {
  require_own(x, "rotate");
  require_basis(x, Basis::kQ, "rotate");
  require_degree(x.degree(), 1, 1, "rotate");
  require_slots(x, "rotate");
  require_key(x, key, KeyKind::kGalois, x.level, "rotate");
  return apply_switch_key(x, key, to);
}

Ciphertext Evaluator::rotate_over_p(const Ciphertext& x, const SwitchKeys& key) const {
  const char* op = "rotate_over_p";
  require_own(x, op);
  require_basis(x, Basis::kQP, op);
  require_degree(x.degree(), 1, 1, op);
  require_slots(x, op);
  require_key(x, key, KeyKind::kGalois, x.level, op);
  const RnsPolys& residues = *x.residues;
  const LimbList q = context_.limbs(x.level, Basis::kQ);
  const RnsPolys divided = lw::mod_down(context_.ring(), residues, q, 1);
  call(tick_);
  const SwitchOperand operand(context_, divided.view(), decompose(context_.ring(), divided.view()),
                              residues.view(0, 1, 0, residues.limbs().size()), context_.parameters().special(q));
  call(tick_);
  return over_qp(x, std::move(key_switch(context_, operand, key, tick_)[0]), key.id());
}

Ciphertext Evaluator::relinearize(const Ciphertext& x, const SwitchKeys& key, std::optional<Level> to) const {
  require_own(x, "relinearize");
  require_basis(x, Basis::kQ, "relinearize");
  require_degree(x.degree(), 2, 2, "relinearize");
  require_key(x, key, KeyKind::kRelin, x.level, "relinearize");
  return apply_switch_key(x, key, to);
}

std::vector<Ciphertext> Evaluator::rotate_many(const Ciphertext& x, const SwitchKeys& keys) const {
  require_own(x, "rotate_many");
  require_basis(x, Basis::kQ, "rotate_many");
  require_degree(x.degree(), 1, 1, "rotate_many");
  require_slots(x, "rotate_many");
  require_keys(x, keys, KeyKind::kGalois, x.level, "rotate_many");
  std::vector<Ciphertext> results;
  if (keys.size() == 0) return results;
  const SwitchOperand operand(context_, x);
  call(tick_);
  for (RnsPolys& product : key_switch(context_, operand, keys, tick_)) {
    call(tick_);
    results.push_back(mod_down(over_qp(x, std::move(product), keys.id()), x.level, x.scale));
  }
  return results;
}

std::vector<Ciphertext> Evaluator::diag_sums(const Digits& digits, const SwitchKeys& keys,
                                             std::span<const std::size_t> which, std::span<const Diagonal> diagonals,
                                             std::size_t num_giants) const {
  const char* op = "diag_sums";
  const Ciphertext& x = digits.source;
  require_own(x, op);
  require_basis(x, Basis::kQ, op);
  require_degree(x.degree(), 1, 1, op);
  require_slots(x, op);
  require_keys(x, keys, KeyKind::kGalois, x.level, op);
  if (diagonals.empty() || num_giants == 0) fail(ErrorKind::kValue, op, "needs a term and a sum");
  const double scale = diagonals[0].plain->scale;
  std::uint32_t slots = x.slots;
  std::vector<DiagonalTerm> terms;
  for (const Diagonal& diagonal : diagonals) {
    const Plaintext& plain = *diagonal.plain;
    if (plain.residues != nullptr) {
      check_context(plain.parameters, *plain.residues, context_, "diag_sums: the plaintext");
    } else {
      check_parameters(plain.parameters, context_.parameters(), "diag_sums: the plaintext");
    }
    require_same_place(x.level, Basis::kQP, plain.level, plain.basis, op);
    require_scale(plain.scale, scale, op);
    if (diagonal.baby > which.size() || diagonal.giant >= num_giants) {
      fail(
          ErrorKind::kValue, op,
          "there is no term of baby " + std::to_string(diagonal.baby) + " and giant " + std::to_string(diagonal.giant));
    }
    slots = std::max(slots, plain.slots);
    DiagonalTerm& term = terms.emplace_back(diagonal.baby, diagonal.giant);
    if (plain.residues != nullptr) {
      term.plain = plain.residues->view();
    } else {
      term.integers = plain.coefficients->view();
    }
  }
  const SwitchOperand operand = operand_of(context_, digits);
  call(tick_);
  std::vector<Ciphertext> results;
  for (RnsPolys& residues :
       lw::diag_sums(context_, operand, x.residues->view(), keys, which, terms, num_giants, tick_)) {
    Ciphertext sum = over_qp(x, std::move(residues), which.empty() ? x.key_set : keys.id());
    sum.scale = x.scale * scale;
    sum.slots = slots;
    results.push_back(std::move(sum));
  }
  call(tick_);
  return results;
}

Ciphertext Evaluator::to_sparse(const Ciphertext& x, const SwitchKeys& key) const {
  const char* op = "to_sparse";
  require_own(x, op);
  require_basis(x, Basis::kQ, op);
  require_degree(x.degree(), 1, 1, op);
  require_slots(x, op);
  if (x.level != Level{}) {
    fail(ErrorKind::kLevel, op,
         "the ciphertext is at " + to_string(x.level) +
             "; only level 0 of track 0 may be under the sparse secret: drop_level it first");
  }
  require_key(x, key, KeyKind::kToSparse, x.level, op);
  const SwitchOperand operand(context_, x, special_limbs(key.spec(0), context_.parameters()));
  const RnsPolys product = std::move(key_switch(context_, operand, key, tick_)[0]);
  Ciphertext result = with_residues(x, lw::mod_down(context_.ring(), product, x.residues->limbs()));
  result.key_set = key.id();
  result.secret = SecretKind::kSparse;
  return result;
}

Ciphertext Evaluator::mod_raise(const Ciphertext& x, const SwitchKeys& key, Level level, std::int64_t factor) const {
  const char* op = "mod_raise";
  check_context(x.parameters, *x.residues, context_, "mod_raise: the ciphertext");
  if (x.secret != SecretKind::kSparse) fail(ErrorKind::kShape, op, "needs a ciphertext under the sparse secret");
  if (factor < 1) fail(ErrorKind::kValue, op, "factor " + std::to_string(factor) + " is not positive");
  context_.parameters().require_level(level);
  require_key(x, key, KeyKind::kToDense, level, op);
  const Ring& ring = context_.ring();
  const Kernels& kernels = ring.kernels();
  const LimbList limbs = context_.limbs(level, Basis::kQP);
  const std::size_t num_q = context_.parameters().basis(level).size(), num_p = limbs.size() - num_q;
  const RnsPolys coefficients = decompose(ring, x.residues->view());
  RnsPolys raised(ring, limbs, 2);
  kernels.base_convert(ring.queue(), raised.view(), coefficients.view(),
                       ring.base_conversion_table(x.residues->limbs(), limbs));
  kernels.mul_scalar(ring.queue(), raised.view(), std::as_const(raised).view(), ring.residues(factor, limbs));
  kernels.ntt(ring.queue(), raised.view(), raised.view());
  call(tick_);
  const RnsPolys& view = raised;
  const SwitchOperand operand(context_, limbs, view.view(1, 1, 0, limbs.size()), view.view(0, 1, num_p, num_q));
  Ciphertext result = over_qp(x, std::move(key_switch(context_, operand, key, tick_)[0]), key.id());
  result.level = level;
  result.secret = SecretKind::kMain;
  result.scale = x.scale * static_cast<double>(factor);
  result.slots = context_.degree() / 2;
  return result;
}

}  // namespace lw
