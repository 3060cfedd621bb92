// Decryption, for the owner of the secret key only: a raw result reveals the key to whoever also has the ciphertext.
#pragma once

#include <memory>
#include <vector>

#include "rlwe/keys.hpp"

namespace lw {

class Decryptor {
 public:
  /// Throws lw::Error(kParameterMismatch) if the key belongs to other parameters.
  Decryptor(const Context& context, std::shared_ptr<const SecretKey> key);

  /// The N centred coefficients of message * scale + noise, read modulo level 0 of the ciphertext's track, so right
  /// while they stay below half its modulus. The ciphertext is over Q, of degree at most 2. Branch free.
  std::vector<double> decrypt(const Ciphertext& x) const;

 private:
  const Context& context_;
  std::shared_ptr<const SecretKey> key_;
};

}  // namespace lw
