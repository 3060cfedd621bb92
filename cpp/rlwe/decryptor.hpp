// Decryption, for the owner of the secret key only: a raw result reveals the key to whoever also has the ciphertext.
#pragma once

#include <memory>
#include <vector>

#include "rlwe/keys.hpp"

namespace lw {

/// c(s) over `limbs` (all of them limbs of x), in coefficient form: message and noise. x, of the context or of its
/// twin, has degree at most 2; the result is on the host.
SecretPolys phase(const Context& context, const SecretKey& key, const Ciphertext& x, const LimbList& limbs);
/// Coefficients of one polynomial as plain 64-bit residues, [limb][coefficient].
SecretBuffer<std::uint64_t> plain_residues(const Ring& ring, const RnsPolys& x);

/// The limbs that a message is read from: the first ones of `all`, as many as values up to 2^62 take at this scale; all
/// of them if the scale says nothing of the size of coefficients.
LimbList message_limbs(const Parameters& parameters, const LimbList& all, double scale);
/// The inverse of prime i modulo prime j, [j][i] for i < j: what reads integers in mixed radix.
std::vector<std::uint64_t> mixed_radix_inverses(const Ring& ring, const LimbList& limbs);
/// Throws unless it is a CKKS ciphertext of the context over Q that this key opens.
void check_readable(const Context& context, const KeySetId& key, const Ciphertext& x);

class Decryptor {
 public:
  /// Throws lw::Error(kParameterMismatch) if the key belongs to other parameters.
  Decryptor(const Context& context, std::shared_ptr<const SecretKey> key);

  /// The N centred coefficients of message * scale + noise. Right while they stay below half the modulus of x's level
  /// and slots below 2^62: read modulo as many of its limbs as that takes. x is over Q, of degree at most 2. Branch
  /// free.
  SecretBuffer<double> decrypt(const Ciphertext& x) const;

 private:
  const Context& home_;     // where ciphertexts are used
  const Context& context_;  // where they are read, on the host
  std::shared_ptr<const SecretKey> key_;
};

}  // namespace lw
