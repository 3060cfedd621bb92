#include "schemes/ckks/mul.hpp"

#include <algorithm>
#include <vector>

#include "math/error.hpp"

namespace lw::ckks {
namespace {

void require_ckks(const Evaluator& evaluator, const char* op) {
  if (!evaluator.context().parameters().is_bfv()) return;
  throw Error(ErrorKind::kParameterMismatch, std::string(op) + ": these are BFV ciphertexts; use the evaluator of BFV");
}

void require_factors(const Ciphertext& a, const Ciphertext& b, const char* op) {
  const std::uint32_t degree = a.degree() + b.degree();
  if (a.basis == Basis::kQ && b.basis == Basis::kQ && degree <= kMaxCiphertextDegree) return;
  throw Error(ErrorKind::kShape, std::string(op) + ": factors must be over Q, and of degrees that add up to at most " +
                                     std::to_string(kMaxCiphertextDegree) + "; these add up to " +
                                     std::to_string(degree) +
                                     (a.basis == b.basis && a.basis == Basis::kQ ? "" : " over QP") +
                                     ", relinearize or mod_down them first");
}

Ciphertext label_product(const Ciphertext& a, const Ciphertext& b, RnsPolys residues) {
  Ciphertext result = with_residues(a, std::move(residues));
  result.scale = a.scale * b.scale;
  join_label(result, b);
  return result;
}

Ciphertext multiply(const Evaluator& evaluator, const Ciphertext& a, const Ciphertext& b, const char* op) {
  require_ckks(evaluator, op);
  evaluator.require_alike(a, b, op);
  require_factors(a, b, op);
  if (a.degree() > 1 || b.degree() > 1) {
    const Ciphertext *left[] = {&a}, *right[] = {&b};
    return dot(evaluator, left, right);
  }
  const Ring& ring = evaluator.context().ring();
  RnsPolys out(ring, a.residues->limbs(), 3);
  ring.kernels().tensor_product(ring.queue(), out.view(), a.residues->view(), b.residues->view());
  return label_product(a, b, std::move(out));
}

}  // namespace

Ciphertext mul(const Evaluator& evaluator, const Ciphertext& a, const Ciphertext& b) {
  return multiply(evaluator, a, b, "mul");
}

Ciphertext square(const Evaluator& evaluator, const Ciphertext& x) { return multiply(evaluator, x, x, "square"); }

Ciphertext dot(const Evaluator& evaluator, std::span<const Ciphertext* const> a, std::span<const Ciphertext* const> b) {
  require_ckks(evaluator, "dot");
  if (a.empty() || a.size() != b.size()) throw Error(ErrorKind::kValue, "dot: needs pairs of ciphertexts");
  const Ring& ring = evaluator.context().ring();
  const LimbList& limbs = a[0]->residues->limbs();
  std::vector<ConstLimbView> left[kMaxCiphertextDegree + 1], right[kMaxCiphertextDegree + 1];  // of each polynomial
  const auto add_term = [&](std::uint32_t i, std::uint32_t j, std::size_t k) {
    left[i + j].push_back(a[k]->residues->view(i, 1, 0, limbs.size()));
    right[i + j].push_back(b[k]->residues->view(j, 1, 0, limbs.size()));
  };
  Ciphertext label = *a[0];
  std::uint32_t degree = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    evaluator.require_alike(*a[0], *a[k], "dot");
    evaluator.require_alike(*a[k], *b[k], "dot");
    require_factors(*a[k], *b[k], "dot");
    if (!scales_match(a[k]->scale * b[k]->scale, a[0]->scale * b[0]->scale)) {
      throw Error(ErrorKind::kScale, "dot: product " + std::to_string(k) + " has another scale than the first");
    }
    degree = std::max(degree, a[k]->degree() + b[k]->degree());
    for (std::uint32_t i = 0; i <= a[k]->degree(); ++i) {
      for (std::uint32_t j = 0; j <= b[k]->degree(); ++j) add_term(i, j, k);
    }
    join_label(label, *a[k]);
    join_label(label, *b[k]);
  }
  RnsPolys out(ring, limbs, degree + 1);
  for (std::uint32_t p = 0; p <= degree; ++p) {
    ring.kernels().dot(ring.queue(), out.view(p, 1, 0, limbs.size()), left[p], right[p]);
  }
  return label_product(label, *b[0], std::move(out));
}

}  // namespace lw::ckks
