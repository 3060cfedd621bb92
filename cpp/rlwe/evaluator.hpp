// Operations on ciphertexts that no scheme needs to be named for. Every operation
// checks its operands once, before any arithmetic, and leaves them as they are.
//
// Errors common to all: lw::Error kParameterMismatch (other parameters or key
// set), kLevel, kScale (scales further apart than 2^-20), kShape (degree, basis, slots).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rlwe/key_switch.hpp"
#include "rlwe/weight_matrix.hpp"

namespace lw {

/// Two scales that an operation may take for equal.
bool scales_match(double a, double b) noexcept;
/// scale / product of some limbs' primes.
double divided_scale(const Parameters& parameters, double scale, std::span<const std::uint16_t> limbs) noexcept;

/// One term of a linear combination: x times real + imaginary X^(N/2), which multiplies slots by i.
struct WeightedCiphertext {
  Ciphertext x;
  std::int64_t real, imaginary;
};

/// Operands that are taken by value may lend their limbs to the result: give one up (std::move) where it is used last.
class Evaluator {
 public:
  /// tick is called between the kernels of a key switch; it may throw to cancel.
  explicit Evaluator(const Context& context, Tick tick = {}) : context_(context), tick_(std::move(tick)) {}
  const Context& context() const noexcept { return context_; }

  // Degrees may differ; the result has the larger one, the larger slot count and the scale of `a`.
  Ciphertext add(Ciphertext a, const Ciphertext& b) const;
  Ciphertext sub(Ciphertext a, const Ciphertext& b) const;
  Ciphertext neg(Ciphertext x) const;

  Ciphertext add_plain(Ciphertext x, const Plaintext& p) const;
  Ciphertext sub_plain(Ciphertext x, const Plaintext& p) const;
  Ciphertext mul_plain(Ciphertext x, const Plaintext& p) const;  // scales multiply
  /// The sum of mul_plain(x[i], p[i]) over at least one pair, all of one degree, no product stored by itself.
  Ciphertext dot_plain(std::span<const Ciphertext* const> x, std::span<const Plaintext* const> p) const;

  /// The sums of x[u] times weight (v, u), for each v: of any degree, all alike. `scale` is the label of the results.
  std::vector<Ciphertext> matrix_product(std::span<const Ciphertext> x, const WeightMatrix& weights,
                                         double scale) const;

  /// Every coefficient times `factor`; `scale` is the label of the result.
  Ciphertext mul_int(Ciphertext x, std::int64_t factor, double scale) const;
  /// Adds the constant polynomial `addend` (= round(value * scale)); over Q only.
  Ciphertext add_int(Ciphertext x, std::int64_t addend) const;
  /// Times X^exponent, exponent in [0, 2N); X^(N/2) multiplies all slots by i.
  Ciphertext mul_monomial(Ciphertext x, std::uint64_t exponent) const;
  /// The sum of ciphertexts times real + imaginary X^(N/2), in one pass; of any degrees, at one level. At most
  /// kMostAliasedTerms of them; the memory of one is used again if nothing else has it.
  Ciphertext weighted_sum(std::vector<WeightedCiphertext> terms, double scale) const;

  /// A view of the limbs of x.
  Ciphertext drop_level(const Ciphertext& x, Level to) const;
  /// Divides by P if x is over QP, and by the limbs between its level and `to`, at once. The result is over Q;
  /// `scale` is stated and must agree with the computed one.
  Ciphertext mod_down(const Ciphertext& x, Level to, double scale) const;
  /// mod_down by one level, with the computed scale.
  Ciphertext rescale(const Ciphertext& x) const;
  /// x over Q as the same value over QP, that is times P.
  Ciphertext extend(const Ciphertext& x) const;

  /// The trivial encryption of a plaintext: degree 1 with c1 = 0.
  Ciphertext trivial(const Plaintext& p) const;
  /// Renames the level of a ciphertext: to a level with the same limbs, another scale or slot count.
  Ciphertext relabel(const Ciphertext& x, Level level, double scale, std::uint32_t slots) const;

  /// x over Q of degree 1 or 2: its last polynomial as extended digits. Digits that are not stored are extended by
  /// each operation that takes them, limb by limb: better for one alone.
  Digits hoist(const Ciphertext& x, bool store = true) const;
  /// Degree 1 over QP. A galois key takes digits of degree 1 and rotates the slots; a relinearisation key, degree 2.
  Ciphertext key_product(const Digits& digits, const SwitchKeys& key) const;

  // Key switches that store no digits. One mod_down ends each, which may take levels with it: to `to`, where that is
  // given, the scale then divided by what is removed.
  Ciphertext rotate(const Ciphertext& x, const SwitchKeys& key, std::optional<Level> to = {}) const;
  Ciphertext relinearize(const Ciphertext& x, const SwitchKeys& key, std::optional<Level> to = {}) const;
  /// x over QP, of degree 1, rotated over QP: c1 is divided by P to be decomposed, c0 stays as it is.
  Ciphertext rotate_over_p(const Ciphertext& x, const SwitchKeys& key) const;
  /// x rotated by each key, on one decomposition.
  std::vector<Ciphertext> rotate_many(const Ciphertext& x, const SwitchKeys& keys) const;
  /// The inner sums of a linear transform, over QP: baby 0 is the value itself, baby k is rotated by key which[k - 1],
  /// and sum g adds plain * baby over its terms. Plaintexts over QP at one scale; a sum without terms is zero.
  struct Diagonal {
    std::uint32_t baby, giant;
    const Plaintext* plain;
  };
  std::vector<Ciphertext> diag_sums(const Digits& digits, const SwitchKeys& keys, std::span<const std::size_t> which,
                                    std::span<const Diagonal> diagonals, std::size_t num_giants) const;

  /// x at level 0 of track 0, degree 1, to the sparse secret.
  Ciphertext to_sparse(const Ciphertext& x, const SwitchKeys& key) const;
  /// x under the sparse secret: converted from its limbs to those of `level`, times `factor`, back to the main secret;
  /// over QP. Every coefficient of the message gets a small multiple of its modulus.
  Ciphertext mod_raise(const Ciphertext& x, const SwitchKeys& key, Level level, std::int64_t factor) const;

  // Checks, for the schemes built on this.
  void require_own(const Ciphertext& x, const char* op) const;
  void require_alike(const Ciphertext& a, const Ciphertext& b, const char* op) const;
  /// The keys are of this kind, of x's key set, and hold the limbs of `level`.
  void require_keys(const Ciphertext& x, const SwitchKeys& keys, KeyKind kind, Level level, const char* op) const;
  /// Requires a single key, with the conditions of require_keys.
  void require_key(const Ciphertext& x, const SwitchKeys& key, KeyKind kind, Level level, const char* op) const;
  void require_key(const Ciphertext& x, const SwitchKeys& key, KeyKind kind, const char* op) const {
    require_key(x, key, kind, x.level, op);
  }

 private:
  Ciphertext combine(Ciphertext a, const Ciphertext& b, bool is_sub) const;
  Ciphertext combine_plain(Ciphertext x, const Plaintext& p, bool is_sub) const;
  void require_plain(const Ciphertext& x, const Plaintext& p, const char* op) const;
  /// Limbs for a result shaped like x: x's own where nothing else holds them, else new ones.
  std::shared_ptr<RnsPolys> residues_like(const Ciphertext& x) const;
  Ciphertext apply_switch_key(const Ciphertext& x, const SwitchKeys& key, std::optional<Level> to) const;

  const Context& context_;
  Tick tick_;
};

/// x with other limbs, no longer fresh.
Ciphertext with_residues(const Ciphertext& x, RnsPolys residues);
Ciphertext with_residues(const Ciphertext& x, std::shared_ptr<const RnsPolys> residues);
/// The label of a result, so far that of one operand, for a further operand: the key set that is not anonymous, the
/// larger number of slots, and whether either is unproved.
void join_label(Ciphertext& result, const Ciphertext& operand) noexcept;
void join_label(Ciphertext& result, const Plaintext& operand) noexcept;

}  // namespace lw
