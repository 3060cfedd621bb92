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

void require_factor(const Ciphertext& x, const char* op) {
  if (x.degree() == 1 && x.basis == Basis::kQ) return;
  throw Error(ErrorKind::kShape, std::string(op) + ": factors must have degree 1 over Q; this one has degree " +
                                     std::to_string(x.degree()) + (x.basis == Basis::kQ ? "" : " over QP") +
                                     ", relinearize or mod_down it first");
}

Ciphertext label_product(const Ciphertext& a, const Ciphertext& b, RnsPolys residues) {
  Ciphertext result = with_residues(a, std::move(residues));
  result.scale = a.scale * b.scale;
  join_label(result, b);
  return result;
}

}  // namespace

Ciphertext mul(const Evaluator& evaluator, const Ciphertext& a, const Ciphertext& b) {
  require_ckks(evaluator, "mul");
  evaluator.require_alike(a, b, "mul");
  require_factor(a, "mul");
  require_factor(b, "mul");
  const Ring& ring = evaluator.context().ring();
  RnsPolys out(ring, a.residues->limbs(), 3);
  ring.kernels().tensor_product(ring.queue(), out.view(), a.residues->view(), b.residues->view());
  return label_product(a, b, std::move(out));
}

Ciphertext square(const Evaluator& evaluator, const Ciphertext& x) {
  require_ckks(evaluator, "square");
  evaluator.require_own(x, "square");
  require_factor(x, "square");
  const Ring& ring = evaluator.context().ring();
  RnsPolys out(ring, x.residues->limbs(), 3);
  ring.kernels().tensor_product(ring.queue(), out.view(), x.residues->view(), x.residues->view());
  return label_product(x, x, std::move(out));
}

Ciphertext dot(const Evaluator& evaluator, std::span<const Ciphertext* const> a, std::span<const Ciphertext* const> b) {
  require_ckks(evaluator, "dot");
  if (a.empty() || a.size() != b.size()) throw Error(ErrorKind::kValue, "dot: needs pairs of ciphertexts");
  const Ring& ring = evaluator.context().ring();
  const LimbList& limbs = a[0]->residues->limbs();
  std::vector<ConstLimbView> left[3], right[3];  // the terms of each polynomial
  const auto add_term = [&](std::uint32_t i, std::uint32_t j, std::size_t k) {
    left[i + j].push_back(a[k]->residues->view(i, 1, 0, limbs.size()));
    right[i + j].push_back(b[k]->residues->view(j, 1, 0, limbs.size()));
  };
  Ciphertext label = *a[0];
  for (std::size_t k = 0; k < a.size(); ++k) {
    evaluator.require_alike(*a[0], *a[k], "dot");
    evaluator.require_alike(*a[k], *b[k], "dot");
    require_factor(*a[k], "dot");
    require_factor(*b[k], "dot");
    if (!scales_match(a[k]->scale * b[k]->scale, a[0]->scale * b[0]->scale)) {
      throw Error(ErrorKind::kScale, "dot: product " + std::to_string(k) + " has another scale than the first");
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      for (std::uint32_t j = 0; j < 2; ++j) add_term(i, j, k);
    }
    join_label(label, *a[k]);
    join_label(label, *b[k]);
  }
  RnsPolys out(ring, limbs, 3);
  for (std::uint32_t p = 0; p < 3; ++p) {
    ring.kernels().dot(ring.queue(), out.view(p, 1, 0, limbs.size()), left[p], right[p]);
  }
  return label_product(label, *b[0], std::move(out));
}

}  // namespace lw::ckks
