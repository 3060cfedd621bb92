// BFV products, and what else needs the plaintext modulus. Sums, rotations, relinearisation, changes of modulus and
// products with plaintexts are those of lw::Evaluator: a BFV ciphertext has scale 1 there.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "rlwe/evaluator.hpp"
#include "schemes/bfv/encoder.hpp"
#include "schemes/bfv/tables.hpp"

namespace lw::bfv {

/// Errors are those of lw::Evaluator. Safe to share between threads.
class Evaluator {
 public:
  explicit Evaluator(const Context& context, Tick tick = {});

  /// The product of two ciphertexts of degree 1 at one level: degree 2.
  Ciphertext mul(const Ciphertext& a, const Ciphertext& b) const;
  /// The same, relinearised: cheaper than the two steps, as one division ends both.
  Ciphertext mul(const Ciphertext& a, const Ciphertext& b, const SwitchKeys& relin) const;
  /// The sum of mul(a[i], b[i]) over at least one pair, divided and rounded once.
  Ciphertext dot(std::span<const Ciphertext* const> a, std::span<const Ciphertext* const> b) const;

  /// Adds a constant (0 <= addend < t) to every slot.
  Ciphertext add_constant(const Ciphertext& x, std::uint64_t addend) const;

 private:
  struct TensorProduct;
  TensorProduct tensor_product(const Ciphertext& a, const Ciphertext& b, const ProductTables& tables) const;
  /// The key product of the third poly, plus P times the first two: over QP.
  RnsPolys switched(const RnsPolys& product, const SwitchKeys& relin, const ProductTables& tables) const;
  void require_factors(const Ciphertext& a, const Ciphertext& b) const;
  const ProductTables& tables(Level level) const;

  const Context& context_;
  lw::Evaluator shared_;
  Tick tick_;
  mutable std::map<LimbList, std::unique_ptr<const ProductTables>> tables_;  // by Q limbs
};

}  // namespace lw::bfv
