#include "rlwe/batch_decryptor.hpp"

#include <utility>

namespace lw {

BatchDecryptor::BatchDecryptor(const Context& context, const SecretKey& key)
    : context_(context), client_(client_kernels(context)), key_set_(key.id()), secret_(context, key) {}

SecretPolys BatchDecryptor::phases(std::span<const Ciphertext> x, const LimbList& limbs) const {
  const Ring& ring = context_.ring();
  const RnsPolys& minus_secret = secret_.ntt(limbs);
  SecretPolys phases(ring, limbs, static_cast<std::uint32_t>(x.size()));
  std::vector<ConstLimbView> parts;
  for (const Ciphertext& one : x) parts.push_back(one.residues->view(0, one.residues->polys(), 0, limbs.size()));
  client_.at_secret(ring.queue(), phases->view(), parts, minus_secret.view());
  ring.kernels().intt(ring.queue(), phases->view(), phases->view());
  return phases;
}

}  // namespace lw
