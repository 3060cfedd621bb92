// What can be computed on ciphertexts without naming a scheme. Every operation
// checks its operands once, before any arithmetic, and leaves them as they are.
//
// Errors common to all: lw::Error kParameterMismatch (other parameters or key
// set), kLevel, kScale (scales further apart than 2^-20), kShape (degree, basis, slots).
#pragma once

#include <cstdint>

#include "rlwe/key_switch.hpp"

namespace lw {

/// Two scales that an operation may take for equal.
bool scales_match(double a, double b) noexcept;
/// scale / product of some limbs' primes.
double divided_scale(const Parameters& parameters, double scale, std::span<const std::uint16_t> limbs) noexcept;

class Evaluator {
 public:
  /// tick is called between the digits of a key switch; it may throw to cancel.
  explicit Evaluator(const Context& context, Tick tick = {}) : context_(context), tick_(std::move(tick)) {}
  const Context& context() const noexcept { return context_; }

  // Degrees may differ; the result has the larger one, the larger slot count and the scale of `a`.
  Ciphertext add(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext sub(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext neg(const Ciphertext& x) const;

  Ciphertext add_plain(const Ciphertext& x, const Plaintext& p) const;
  Ciphertext sub_plain(const Ciphertext& x, const Plaintext& p) const;
  Ciphertext mul_plain(const Ciphertext& x, const Plaintext& p) const;  // scales multiply

  /// Every coefficient times `factor`; `scale` is the label of the result.
  Ciphertext mul_int(const Ciphertext& x, std::int64_t factor, double scale) const;
  /// Adds the constant polynomial `addend` (= round(value * scale)); over Q only.
  Ciphertext add_int(const Ciphertext& x, std::int64_t addend) const;

  Ciphertext drop_level(const Ciphertext& x, Level to) const;
  /// Divides by P if x is over QP, and by the limbs between its level and `to`, at once. The result is over Q;
  /// `scale` is stated and must agree with the computed one.
  Ciphertext mod_down(const Ciphertext& x, Level to, double scale) const;
  /// mod_down by one level, with the computed scale.
  Ciphertext rescale(const Ciphertext& x) const;

  /// Degree 1 with c1 = 0.
  Ciphertext trivial(const Plaintext& p) const;
  /// Same rows under another name: a level with the same limbs, another scale or slot count.
  Ciphertext relabel(const Ciphertext& x, Level level, double scale, std::uint32_t slots) const;

  /// x over Q of degree 1 or 2: its last polynomial as extended digits.
  Digits hoist(const Ciphertext& x) const;
  /// Degree 1 over QP. A galois key takes digits of degree 1 and turns the slots; a relinearisation key, degree 2.
  Ciphertext key_product(const Digits& digits, const EvaluationKey& key) const;
  Ciphertext rotate(const Ciphertext& x, const EvaluationKey& key) const;       // hoist, key_product, mod_down
  Ciphertext relinearize(const Ciphertext& x, const EvaluationKey& key) const;  // likewise

  // Checks, for the schemes built on this.
  void require_own(const Ciphertext& x, const char* op) const;
  void require_alike(const Ciphertext& a, const Ciphertext& b, const char* op) const;
  void require_key(const Ciphertext& x, const EvaluationKey& key, KeyKind kind, const char* op) const;

 private:
  Ciphertext combine(const Ciphertext& a, const Ciphertext& b, bool is_sub) const;
  Ciphertext combine_plain(const Ciphertext& x, const Plaintext& p, bool is_sub) const;
  void require_plain(const Ciphertext& x, const Plaintext& p, const char* op) const;
  Ciphertext key_switch(const Ciphertext& x, const EvaluationKey& key) const;

  const Context& context_;
  Tick tick_;
};

/// x with other rows, no longer fresh.
Ciphertext with_rows(const Ciphertext& x, PolyRows rows);
/// The key set of a result of both operands: the one that is not anonymous.
KeySetId joint_key_set(const Ciphertext& a, const Ciphertext& b) noexcept;

}  // namespace lw
