#include "schemes/bfv/decryptor.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "math/error.hpp"
#include "math/shoup.hpp"
#include "rlwe/decryptor.hpp"
#include "schemes/bfv/tables.hpp"

namespace lw::bfv {
namespace {

/// The inverse of a number modulo t, which need be no prime, by Euclid's algorithm; they have no factor in common.
std::uint64_t inverse_modulo(std::uint64_t number, std::uint64_t t) noexcept {
  std::uint64_t larger = t, smaller = number % t;
  std::int64_t of_larger = 0, of_smaller = 1;  // larger = of_larger * number modulo t, smaller alike
  while (smaller > 1) {
    const std::uint64_t quotient = larger / smaller;
    const std::int64_t next = of_larger - static_cast<std::int64_t>(quotient) * of_smaller;
    larger = std::exchange(smaller, larger % smaller);
    of_larger = std::exchange(of_smaller, next);
  }
  return of_smaller < 0 ? t - static_cast<std::uint64_t>(-of_smaller) % t : static_cast<std::uint64_t>(of_smaller) % t;
}

/// -w/Q modulo t for the centred w that has these residues, and how far t * c(s) / Q is from an integer: one block of
/// coefficients at a time. The sum is that of the base conversion, whose rounding is the rounding of the message.
struct Rounding {
  Rounding(const Ring& ring, const LimbList& q, std::uint64_t t)
      : table(ring.base_conversion_table(q, {{q[0]}})), plain(t) {
    std::uint64_t product = 1 % t;
    for (const std::uint16_t limb : q) product = plain.mul(product, plain.reduce(ring.modulus(limb).value()));
    const std::uint64_t after = plain.neg(inverse_modulo(product, t));
    table.total = {plain.mul(product, after)};
    for (std::size_t j = 0; j < q.size(); ++j) {  // product of the other limbs, times `after`
      table.weight[j] = plain.mul(table.total[0], inverse_modulo(plain.reduce(ring.modulus(q[j]).value()), t));
    }
    for (std::size_t j = 0; j < q.size(); ++j) {
      moduli.push_back(ring.modulus(q[j]));
      inverse.emplace_back(table.inverse[j], moduli[j].value());
    }
  }

  /// residues: of one coefficient, `stride` words apart. distance: updated with |fraction|.
  std::uint64_t operator()(const std::uint64_t* residues, std::size_t stride, double& distance) const noexcept {
    double v = 0;
    U128 sum = 0;
    std::uint64_t wraps = 0;
    for (std::size_t j = 0; j < moduli.size(); ++j) {
      const std::uint64_t q = moduli[j].value(), y = inverse[j].mul(residues[j * stride], q);
      const std::uint64_t is_upper = static_cast<std::uint64_t>(y > q / 2);
      wraps += is_upper;
      v = std::fma(static_cast<double>(static_cast<std::int64_t>(y - (q & (0 - is_upper)))), table.reciprocal[j], v);
      sum += static_cast<U128>(y) * table.weight[j];
    }
    const double rounded = std::rint(v);
    distance = std::max(distance, std::abs(v - rounded));
    const std::uint64_t multiples = static_cast<std::uint64_t>(static_cast<std::int64_t>(rounded)) + wraps;
    return plain.reduce(sum + static_cast<U128>(multiples) * plain.neg(table.total[0]));
  }

  BaseConversionTable table;
  Modulus plain;
  std::vector<Modulus> moduli;
  std::vector<ShoupFactor> inverse;
};

/// Mixed-radix digits of integers modulo q_0 * q_1 * ..., read as float64: no cancellation, so right to 2^-40.
class Magnitude {
 public:
  Magnitude(const Ring& ring, const LimbList& q) {
    for (const std::uint16_t limb : q) {
      inverses_.emplace_back();
      const Modulus& m = ring.modulus(limb);
      for (const Modulus& lower : moduli_) inverses_.back().push_back(m.inverse(m.reduce(lower.value())));
      moduli_.push_back(m);
    }
  }

  /// min(x, Q - x) of one coefficient, over Q / 2.
  double operator()(const std::uint64_t* residues, std::size_t stride) const noexcept {
    return 2 * std::min(fraction<false>(residues, stride), fraction<true>(residues, stride));
  }

 private:
  /// x / Q, or -x / Q modulo 1.
  template <bool kNegated>
  double fraction(const std::uint64_t* residues, std::size_t stride) const noexcept {
    std::uint64_t digits[240];  // a ring has no more limbs
    double value = 0;
    for (std::size_t j = 0; j < moduli_.size(); ++j) {
      const Modulus& m = moduli_[j];
      const std::uint64_t q = m.value(), x = residues[j * stride];
      // (q - x) is q for x = 0, which the products below reduce
      std::uint64_t digit = kNegated ? m.reduce(q - x) : x;
      for (std::size_t i = 0; i < j; ++i) digit = m.mul(m.sub(digit, m.reduce(digits[i])), inverses_[j][i]);
      digits[j] = digit;
      value = (value + static_cast<double>(digit)) / static_cast<double>(q);
    }
    wipe(digits, sizeof digits);
    return value;
  }

  std::vector<Modulus> moduli_;
  std::vector<std::vector<std::uint64_t>> inverses_;  // [j][i]: of q_i modulo q_j
};

}  // namespace

Decryptor::Decryptor(const Context& context, std::shared_ptr<const SecretKey> key, bool is_there)
    : home_(context), context_(context.host()), key_(std::move(key)) {
  require_bfv(context.parameters(), "Decryptor");
  check_parameters(key_->parameters(), context.parameters(), "Decryptor: the secret key");
  if (is_there) there_ = std::make_shared<const BatchDecryptor>(home_, *key_);
}

SecretBuffer<std::uint64_t> Decryptor::scaled_phase(const Ciphertext& x) const {
  const LimbList& limbs = x.residues->limbs();
  const Ring& ring = (there_ != nullptr ? home_ : context_).ring();
  SecretPolys message = there_ != nullptr ? there_->phases({&x, 1}, limbs) : phase(home_, *key_, x, limbs);
  ring.kernels().mul_scalar(ring.queue(), message->view(), message->view(),
                            ring.residues(home_.parameters().fields().plain_modulus, limbs));
  return plain_residues(ring, *message);
}

void Decryptor::require_own(const Ciphertext& x, const char* op) const {
  const std::string what = std::string(op) + ": the ciphertext";
  check_context(x.parameters, *x.residues, home_, what);
  check_key_set(x.key_set, key_->id(), what);
  if (x.basis != Basis::kQ) throw Error(ErrorKind::kShape, what + " is over QP; mod_down it first");
}

Message Decryptor::decrypt(const Ciphertext& x) const {
  require_own(x, "decrypt");
  const SecretBuffer<std::uint64_t> residues = scaled_phase(x);
  const std::size_t n = context_.degree();
  const Rounding round(context_.ring(), x.residues->limbs(), context_.parameters().fields().plain_modulus);
  SecretBuffer<std::uint64_t> coefficients(n);
  double distance = 0;
  for (std::size_t i = 0; i < n; ++i) coefficients[i] = round(&residues[i], n, distance);
  if (distance > std::exp2(-1 - kLeastBudget)) {
    throw Error(ErrorKind::kDecryption,
                "decrypt: the noise budget is used up (less than 2 bits left), so the result would not be certain; use "
                "parameters for a larger depth, or fewer operations between encryption and decryption");
  }
  return to_message(context_, coefficients.span());
}

double Decryptor::noise_budget(const Ciphertext& x) const {
  require_own(x, "noise_budget");
  const SecretBuffer<std::uint64_t> residues = scaled_phase(x);
  const std::size_t n = context_.degree();
  const Magnitude magnitude(context_.ring(), x.residues->limbs());
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, magnitude(&residues[i], n));
  const double q_bits = context_.parameters().log2_product(x.residues->limbs());
  return largest > 0 ? -std::log2(largest) : q_bits - 1;
}

}  // namespace lw::bfv
