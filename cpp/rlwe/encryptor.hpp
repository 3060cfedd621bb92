// Encryption: seeded symmetric (half the size, less noise) for the key's owner, or under a public key.
#pragma once

#include <memory>
#include <variant>

#include "rlwe/keys.hpp"

namespace lw {

/// Uses fresh randomness for every ciphertext; no branch or index depends on a secret or on the message.
class Encryptor {
 public:
  /// Throws lw::Error(kParameterMismatch) if the key belongs to other parameters.
  Encryptor(const Context& context, std::shared_ptr<const SecretKey> key, SeedSource seeds = {});
  Encryptor(const Context& context, std::shared_ptr<const PublicKey> key, SeedSource seeds = {});

  /// Degree 1, at the plaintext's level, scale and slots; the plaintext is over Q.
  Ciphertext encrypt(Plaintext message) const;

 private:
  Ciphertext symmetric(const Plaintext& message, const SecretKey& key) const;
  Ciphertext asymmetric(const Plaintext& message, const PublicKey& key) const;

  const Context& home_;     // where ciphertexts are used
  const Context& context_;  // where they are made, on the host
  std::variant<std::shared_ptr<const SecretKey>, std::shared_ptr<const PublicKey>> key_;
  SeedSource seeds_;
};

}  // namespace lw
