// Decryption, for the owner of the secret key only: a raw result reveals the key to whoever also has the ciphertext.
#pragma once

#include <memory>

#include "rlwe/keys.hpp"

namespace lw {

class Decryptor {
 public:
  /// Throws lw::Error(kParameterMismatch) if the key belongs to other parameters.
  Decryptor(const Context& context, std::shared_ptr<const SecretKey> key);

  /// The N centred coefficients of message * scale + noise. Right while they stay below half the modulus of x's level
  /// and slots below 2^62: read modulo as many of its limbs as that takes. x is over Q, of degree at most 2. Branch
  /// free.
  SecretBuffer<double> decrypt(const Ciphertext& x) const;

 private:
  const Context& context_;
  std::shared_ptr<const SecretKey> key_;
};

}  // namespace lw
