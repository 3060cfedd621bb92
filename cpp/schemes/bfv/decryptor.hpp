// Decryption of BFV ciphertexts, for the owner of the secret key.
#pragma once

#include <memory>

#include "rlwe/batch_decryptor.hpp"
#include "schemes/bfv/encoder.hpp"

namespace lw::bfv {

/// Ciphertexts are over Q, of degree at most 2. Everything secret is computed without a branch or an index that
/// depends on it; only the verdict that the noise is too large is acted upon.
class Decryptor {
 public:
  /// is_there: the key is uploaded to the device of the context, where ciphertexts are taken to the secret.
  Decryptor(const Context& context, std::shared_ptr<const SecretKey> key, bool is_there = false);

  /// The message t/Q * c(s), rounded. Throws lw::Error(kDecryption) if a coefficient is further than 1/8 from an
  /// integer, so less than kLeastBudget bits of noise budget are left: noise that has outgrown the budget would have
  /// to leave all N coefficients near integers to go unnoticed, which for N >= 1024 has a chance below 2^-128 where
  /// noise coefficients are spread like a Gaussian.
  Message decrypt(const Ciphertext& x) const;

  /// log2(Q / (2 |noise|)) with noise = t * c(s) mod Q, the largest coefficient: 0 when decryption begins to fail.
  double noise_budget(const Ciphertext& x) const;

 private:
  void require_own(const Ciphertext& x, const char* op) const;
  /// t * c(s) modulo each Q limb, plain residues [limb][coefficient].
  SecretBuffer<std::uint64_t> scaled_phase(const Ciphertext& x) const;

  const Context& home_;     // where ciphertexts are used
  const Context& context_;  // where they are read, on the host
  std::shared_ptr<const SecretKey> key_;
  std::shared_ptr<const BatchDecryptor> there_;  // of home_, if it was asked for
};

inline constexpr double kLeastBudget = 2;

}  // namespace lw::bfv
