#include "rlwe/encryptor.hpp"

#include "math/error.hpp"
#include "rlwe/key_switch.hpp"
#include "rlwe/security.hpp"
#include "rlwe/seeded.hpp"

namespace lw {
namespace {

Ciphertext label(const Plaintext& message, PolyRows rows, const KeySetId& key_set) {
  return {std::make_shared<const PolyRows>(std::move(rows)),
          message.level,
          message.basis,
          message.scale,
          message.slots,
          key_set,
          message.parameters,
          std::nullopt};
}

/// An error in NTT form; `digit` tells apart those of one seed.
SecretRows fresh_error(const Ring& ring, const LimbList& limbs, const PrivateSeed& seed, std::uint32_t digit) {
  return to_ntt(ring, sample_error(ring.degree(), seed, digit).span(), limbs);
}

}  // namespace

Encryptor::Encryptor(const Context& context, std::shared_ptr<const SecretKey> key) : context_(context), key_(key) {
  check_parameters(key->parameters(), context.parameters(), "Encryptor: the secret key");
}

Encryptor::Encryptor(const Context& context, std::shared_ptr<const PublicKey> key) : context_(context), key_(key) {
  check_context(key->parameters, *key->b, context, "Encryptor: the public key");
}

Ciphertext Encryptor::encrypt(const Plaintext& message) const {
  check_context(message.parameters, *message.rows, context_, "encrypt: the plaintext");
  if (message.basis != Basis::kQ) throw Error(ErrorKind::kShape, "encrypt: the plaintext is over QP; encode it over Q");
  check_security(context_.parameters(), message.rows->limbs(), "ciphertext at " + to_string(message.level));
  if (const auto* secret = std::get_if<std::shared_ptr<const SecretKey>>(&key_)) return symmetric(message, **secret);
  return asymmetric(message, *std::get<std::shared_ptr<const PublicKey>>(key_));
}

// Both draw what is secret before they write: between c1 * s, or b * mask, and the error nothing may fail, as the rows
// of the ciphertext are not wiped.

Ciphertext Encryptor::symmetric(const Plaintext& message, const SecretKey& key) const {
  const Ring& ring = context_.ring();
  const Kernels& kernels = ring.kernels();
  const LimbList& limbs = message.rows->limbs();
  const SecretRows secret = key.ntt(ring, limbs), error = fresh_error(ring, limbs, PrivateSeed(), 0);
  const SeedRef seed{os_entropy(), 0};
  PolyRows rows(ring, limbs, 2);
  const Rows c0 = rows.rows(0, 1, 0, limbs.size()), c1 = rows.rows(1, 1, 0, limbs.size());
  expand_uniform(ring, c1, StreamDomain::kSeededCiphertext, seed);
  kernels.mul(ring.queue(), c0, c1, secret->rows());
  kernels.sub(ring.queue(), c0, error->rows(), c0);
  kernels.add(ring.queue(), c0, c0, message.rows->rows());
  Ciphertext fresh = label(message, std::move(rows), key.id());
  fresh.seed = seed;
  return fresh;
}

Ciphertext Encryptor::asymmetric(const Plaintext& message, const PublicKey& key) const {
  const Ring& ring = context_.ring();
  const Kernels& kernels = ring.kernels();
  const LimbList& limbs = message.rows->limbs();
  const SecretRows mask =
      to_ntt(ring, sample_ternary(ring.degree(), PrivateSeed(), StreamDomain::kEncryptionMask).span(), limbs);
  const PrivateSeed error_seed;
  const SecretRows error0 = fresh_error(ring, limbs, error_seed, 0), error1 = fresh_error(ring, limbs, error_seed, 1);
  PolyRows rows(ring, limbs, 2);
  const Rows c0 = rows.rows(0, 1, 0, limbs.size()), c1 = rows.rows(1, 1, 0, limbs.size());
  copy_limbs(ring, rows, 0, *key.b, 0);
  copy_limbs(ring, rows, 1, *key.a, 0);
  kernels.mul(ring.queue(), rows.rows(), rows.rows(), mask->rows());
  kernels.add(ring.queue(), c0, c0, error0->rows());
  kernels.add(ring.queue(), c1, c1, error1->rows());
  kernels.add(ring.queue(), c0, c0, message.rows->rows());
  return label(message, std::move(rows), key.id);
}

}  // namespace lw
