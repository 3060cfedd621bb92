#include "rlwe/encryptor.hpp"

#include "math/error.hpp"
#include "rlwe/key_switch.hpp"
#include "rlwe/security.hpp"
#include "rlwe/seeded.hpp"

namespace lw {
namespace {

/// An error in NTT form; `digit` tells apart those of one seed.
SecretPolys fresh_error(const Ring& ring, const LimbList& limbs, const PrivateSeed& seed, std::uint32_t digit) {
  return to_ntt(ring, sample_error(ring.degree(), seed, digit).span(), limbs);
}

/// The remainder to take from half * mask to leave the nearest multiple of p to half * mask + e, where p is the prime
/// of the special limb: half * mask modulo p, with which half * mask + e is nearest to zero. Without a special limb:
/// -e.
SecretPolys remainder(const Ring& ring, const RnsPolys& half, const RnsPolys& mask, const LimbList& special,
                      const LimbList& limbs, const PrivateSeed& seed, std::uint32_t digit) {
  const SecretBuffer<std::int64_t> error = sample_error(ring.degree(), seed, digit);
  SecretBuffer<std::int64_t> taken(ring.degree());
  if (special.empty()) {
    for (std::size_t i = 0; i < taken.size(); ++i) taken[i] = -error[i];
    return to_ntt(ring, taken.span(), limbs);
  }
  SecretPolys product(ring, special, 1);
  copy_limbs(ring, *product, 0, half, 0);
  ring.kernels().mul(ring.queue(), product->view(), product->view(), mask.view(0, 1, 0, 1));
  ring.kernels().intt(ring.queue(), product->view(), product->view());
  const std::size_t offset = 0;
  const std::uint8_t width = 64;
  ring.export_residues({reinterpret_cast<std::byte*>(taken.data()), {&offset, 1}, {&width, 1}}, product->view());
  const std::int64_t prime = static_cast<std::int64_t>(ring.modulus(special[0]).value()), half_prime = prime / 2;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const std::int64_t is_above = (half_prime - (taken[i] + error[i])) >> 63;  // all ones or none: no branch
    taken[i] -= prime & is_above;
  }
  return to_ntt(ring, taken.span(), limbs);
}

}  // namespace

Ciphertext label_encryption(const Plaintext& message, RnsPolys residues, const KeySetId& key_set) {
  Ciphertext fresh{std::make_shared<const RnsPolys>(std::move(residues)),
                   message.level,
                   message.basis,
                   message.scale,
                   message.slots,
                   key_set,
                   message.parameters};
  fresh.encoding = message.encoding;
  fresh.is_unproved = message.is_unproved;
  return fresh;
}

PublicKeyLimbs::PublicKeyLimbs(const Parameters& parameters, const PublicKey& key, const LimbList& limbs) {
  const std::size_t num_special = key.b->limbs().size() - parameters.all_q().size();  // 1, or 0: see keys.hpp
  special.assign(key.b->limbs().begin(), key.b->limbs().begin() + static_cast<std::ptrdiff_t>(num_special));
  wide = special;
  wide.insert(wide.end(), limbs.begin(), limbs.end());
  check_mask_security(parameters, wide, "ciphertext under the public key");
}

void check_message(const Context& context, const Plaintext& message) {
  check_context(message.parameters, *message.residues, context, "encrypt: the plaintext");
  if (message.basis != Basis::kQ) throw Error(ErrorKind::kShape, "encrypt: the plaintext is over QP; encode it over Q");
  check_security(context.parameters(), message.residues->limbs(), "ciphertext at " + to_string(message.level));
}

Encryptor::Encryptor(const Context& context, std::shared_ptr<const SecretKey> key, SeedSource seeds)
    : home_(context), context_(context.host()), key_(key), seeds_(std::move(seeds)) {
  check_parameters(key->parameters(), context.parameters(), "Encryptor: the secret key");
}

Encryptor::Encryptor(const Context& context, std::shared_ptr<const PublicKey> key, SeedSource seeds)
    : home_(context), context_(context.host()), key_(key), seeds_(std::move(seeds)) {
  check_context(key->parameters, *key->b, context_, "Encryptor: the public key");
}

Ciphertext Encryptor::encrypt(Plaintext message) const {
  message.residues = home_.on_host(std::move(message.residues));
  check_message(context_, message);
  const auto* secret = std::get_if<std::shared_ptr<const SecretKey>>(&key_);
  Ciphertext fresh = secret != nullptr ? symmetric(message, **secret)
                                       : asymmetric(message, *std::get<std::shared_ptr<const PublicKey>>(key_));
  fresh.residues = home_.here(std::move(fresh.residues));
  return fresh;
}

// Both draw what is secret before they write: between c1 * s, or b * mask, and the error nothing may fail, as the limbs
// of the ciphertext are not wiped. Under a public key over Q and p, b * mask + error is divided by p and rounded.

Ciphertext Encryptor::symmetric(const Plaintext& message, const SecretKey& key) const {
  const Ring& ring = context_.ring();
  const Kernels& kernels = ring.kernels();
  const LimbList& limbs = message.residues->limbs();
  const SecretPolys secret = key.ntt(ring, limbs), error = fresh_error(ring, limbs, PrivateSeed(seeds_), 0);
  const SeedRef seed{seeds_.draw(), 0};
  RnsPolys residues(ring, limbs, 2);
  const LimbView c0 = residues.view(0, 1, 0, limbs.size()), c1 = residues.view(1, 1, 0, limbs.size());
  expand_uniform(ring, c1, StreamDomain::kSeededCiphertext, seed);
  kernels.mul(ring.queue(), c0, c1, secret->view());
  kernels.sub(ring.queue(), c0, error->view(), c0);
  kernels.add(ring.queue(), c0, c0, message.residues->view());
  Ciphertext fresh = label_encryption(message, std::move(residues), key.id());
  fresh.seed = seed;
  return fresh;
}

Ciphertext Encryptor::asymmetric(const Plaintext& message, const PublicKey& key) const {
  const Ring& ring = context_.ring();
  const Kernels& kernels = ring.kernels();
  const LimbList& limbs = message.residues->limbs();
  const auto [special, wide] = PublicKeyLimbs(context_.parameters(), key, limbs);
  const SecretPolys mask =
      to_ntt(ring, sample_ternary(ring.degree(), PrivateSeed(seeds_), StreamDomain::kEncryptionMask).span(), wide);
  const PrivateSeed error_seed(seeds_);
  const SecretPolys remainders[] = {remainder(ring, *key.b, *mask, special, limbs, error_seed, 0),
                                    remainder(ring, *key.a, *mask, special, limbs, error_seed, 1)};
  const std::vector<Word> inverse = ring.inverse_product_mod(special, limbs);
  RnsPolys residues(ring, limbs, 2);
  copy_limbs(ring, residues, 0, *key.b, 0);
  copy_limbs(ring, residues, 1, *key.a, 0);
  kernels.mul(ring.queue(), residues.view(), residues.view(), mask->view(0, 1, special.size(), limbs.size()));
  for (std::uint32_t i = 0; i < 2; ++i) {
    const LimbView part = residues.view(i, 1, 0, limbs.size());
    kernels.sub_scale(ring.queue(), part, part, remainders[i]->view(), inverse);
  }
  const LimbView c0 = residues.view(0, 1, 0, limbs.size());
  kernels.add(ring.queue(), c0, c0, message.residues->view());
  Ciphertext fresh = label_encryption(message, std::move(residues), key.id);
  fresh.is_unproved |= key.is_unproved;
  return fresh;
}

}  // namespace lw
