#include "schemes/ckks/mul.hpp"

#include <algorithm>

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

Ciphertext labelled(const Ciphertext& a, const Ciphertext& b, PolyRows rows) {
  Ciphertext result = with_rows(a, std::move(rows));
  result.scale = a.scale * b.scale;
  result.slots = std::max(a.slots, b.slots);
  result.key_set = joint_key_set(a, b);
  return result;
}

}  // namespace

Ciphertext mul(const Evaluator& evaluator, const Ciphertext& a, const Ciphertext& b) {
  require_ckks(evaluator, "mul");
  evaluator.require_alike(a, b, "mul");
  require_factor(a, "mul");
  require_factor(b, "mul");
  const Ring& ring = evaluator.context().ring();
  const Kernels& kernels = ring.kernels();
  const std::size_t limbs = a.rows->limbs().size();
  const auto poly = [limbs](const Ciphertext& x, std::uint32_t i) { return x.rows->rows(i, 1, 0, limbs); };
  PolyRows out(ring, a.rows->limbs(), 3);
  kernels.mul(ring.queue(), out.rows(0, 1, 0, limbs), poly(a, 0), poly(b, 0));
  kernels.mul(ring.queue(), out.rows(1, 1, 0, limbs), poly(a, 0), poly(b, 1));
  kernels.mul_add(ring.queue(), out.rows(1, 1, 0, limbs), poly(a, 1), poly(b, 0));
  kernels.mul(ring.queue(), out.rows(2, 1, 0, limbs), poly(a, 1), poly(b, 1));
  return labelled(a, b, std::move(out));
}

Ciphertext square(const Evaluator& evaluator, const Ciphertext& x) {
  require_ckks(evaluator, "square");
  evaluator.require_own(x, "square");
  require_factor(x, "square");
  const Ring& ring = evaluator.context().ring();
  const Kernels& kernels = ring.kernels();
  const std::size_t limbs = x.rows->limbs().size();
  const ConstRows c0 = x.rows->rows(0, 1, 0, limbs), c1 = x.rows->rows(1, 1, 0, limbs);
  PolyRows out(ring, x.rows->limbs(), 3);
  const Rows middle = out.rows(1, 1, 0, limbs);
  kernels.mul(ring.queue(), out.rows(0, 1, 0, limbs), c0, c0);
  kernels.mul(ring.queue(), middle, c0, c1);
  kernels.add(ring.queue(), middle, middle, middle);
  kernels.mul(ring.queue(), out.rows(2, 1, 0, limbs), c1, c1);
  return labelled(x, x, std::move(out));
}

}  // namespace lw::ckks
