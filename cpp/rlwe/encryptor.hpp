// Encryption: seeded symmetric (half the size, less noise) for the key's owner, or under a public key.
#pragma once

#include <memory>
#include <variant>

#include "rlwe/keys.hpp"

namespace lw {

/// What a public key is used by at a level: over the first special limb, if it has one, and the limbs. Throws
/// lw::Error(kSecurity) where the mask of an encryption, uniform ternary whatever the secret is, would be too weak.
struct PublicKeyLimbs {
  PublicKeyLimbs(const Parameters& parameters, const PublicKey& key, const LimbList& limbs);
  LimbList special, wide;  // wide: special and limbs
};

/// Throws unless it is a plaintext of the context over Q, at a level that is secure.
void check_message(const Context& context, const Plaintext& message);
/// A ciphertext of a message, whose residues are not looked at.
Ciphertext label_encryption(const Plaintext& message, RnsPolys residues, const KeySetId& key_set);

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
