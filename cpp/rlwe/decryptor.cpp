#include "rlwe/decryptor.hpp"

#include <cmath>
#include <vector>

#include "math/error.hpp"
#include "math/modulus.hpp"
#include "rlwe/key_switch.hpp"

namespace lw {
namespace {

constexpr double kHeadroomBits = 64;  // slots up to 2^62 are read right

/// x in (-q/2, q/2] as a residue, without a branch.
std::int64_t centred(std::uint64_t x, std::uint64_t q) noexcept {
  const std::uint64_t is_upper = 0 - static_cast<std::uint64_t>(x > q / 2);
  return static_cast<std::int64_t>(x - (q & is_upper));
}

/// Reads centred integers from their residues in mixed radix with centred digits: d0 + q0 (d1 + q1 (d2 + ...)) with
/// |d| <= q/2 is centred by itself, and the higher digits of small values are zero, so that these come out exact.
class MixedRadix {
 public:
  MixedRadix(const Ring& ring, const LimbList& limbs) : inverse_(mixed_radix_inverses(ring, limbs)) {
    for (const std::uint16_t limb : limbs) moduli_.push_back(ring.modulus(limb));
  }

  /// words: the residue of limb j at words[j * stride]; overwritten.
  double value(std::uint64_t* words, std::size_t stride) const noexcept {
    const std::size_t count = moduli_.size();
    for (std::size_t j = 0; j < count; ++j) {
      const Modulus& m = moduli_[j];
      std::uint64_t& x = words[j * stride];
      for (std::size_t i = 0; i < j; ++i) {
        const std::uint64_t q = moduli_[i].value(), digit = words[i * stride];
        const std::uint64_t is_upper = 0 - static_cast<std::uint64_t>(digit > q / 2);
        const std::uint64_t shift = m.reduce(q) & is_upper;  // the digit minus q where that is nearer to zero
        x = m.mul(m.sub(x, m.sub(m.reduce(digit), shift)), inverse_[j * count + i]);
      }
    }
    double value = 0;
    for (std::size_t j = count; j-- > 0;) {
      const std::uint64_t q = moduli_[j].value();
      value = value * static_cast<double>(q) + static_cast<double>(centred(words[j * stride], q));
    }
    return value;
  }

 private:
  std::vector<Modulus> moduli_;
  std::vector<std::uint64_t> inverse_;
};

}  // namespace

LimbList message_limbs(const Parameters& parameters, const LimbList& all, double scale) {
  if (scale < 1) return all;
  double bits = 0;
  std::size_t count = 0;
  while (count < all.size() && bits < std::log2(scale) + kHeadroomBits) {
    bits += std::log2(static_cast<double>(parameters.prime(all[count++])));
  }
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::vector<std::uint64_t> mixed_radix_inverses(const Ring& ring, const LimbList& limbs) {
  std::vector<std::uint64_t> inverses(limbs.size() * limbs.size());
  for (std::size_t j = 0; j < limbs.size(); ++j) {
    const Modulus& m = ring.modulus(limbs[j]);
    for (std::size_t i = 0; i < j; ++i) {
      inverses[j * limbs.size() + i] = m.inverse(m.reduce(ring.modulus(limbs[i]).value()));
    }
  }
  return inverses;
}

SecretPolys phase(const Context& context, const SecretKey& key, const Ciphertext& x, const LimbList& limbs) {
  const Ring& ring = context.host().ring();
  const std::shared_ptr<const RnsPolys> residues = context.on_host(x.residues);
  const SecretPolys secret = key.ntt(ring, limbs);
  SecretPolys message(ring, limbs, 1), term(ring, limbs, 1);
  copy_limbs(ring, *message, 0, *residues, x.degree());
  for (std::uint32_t i = x.degree(); i-- > 0;) {  // Horner in the secret
    ring.kernels().mul(ring.queue(), message->view(), message->view(), secret->view());
    copy_limbs(ring, *term, 0, *residues, i);
    ring.kernels().add(ring.queue(), message->view(), message->view(), term->view());
  }
  ring.kernels().intt(ring.queue(), message->view(), message->view());
  return message;
}

SecretBuffer<std::uint64_t> plain_residues(const Ring& ring, const RnsPolys& x) {
  SecretBuffer<std::uint64_t> out(x.limbs().size() * ring.degree());
  std::vector<std::size_t> offsets;
  for (std::size_t j = 0; j < x.limbs().size(); ++j) offsets.push_back(j * ring.degree() * sizeof(std::uint64_t));
  const std::vector<std::uint8_t> widths(x.limbs().size(), 64);
  ring.export_residues({reinterpret_cast<std::byte*>(out.data()), offsets, widths}, x.view());
  return out;
}

Decryptor::Decryptor(const Context& context, std::shared_ptr<const SecretKey> key)
    : home_(context), context_(context.host()), key_(std::move(key)) {
  check_parameters(key_->parameters(), context.parameters(), "Decryptor: the secret key");
}

void check_readable(const Context& context, const KeySetId& key, const Ciphertext& x) {
  check_context(x.parameters, *x.residues, context, "decrypt: the ciphertext");
  if (context.parameters().is_bfv()) {
    throw Error(ErrorKind::kParameterMismatch,
                "decrypt: this is a BFV ciphertext, whose message only the decryptor of "
                "BFV can read");
  }
  check_key_set(x.key_set, key, "decrypt: the ciphertext");
  if (x.basis != Basis::kQ) throw Error(ErrorKind::kShape, "decrypt: the ciphertext is over QP; mod_down it first");
  if (x.secret != SecretKind::kMain) {
    throw Error(ErrorKind::kShape, "decrypt: the ciphertext is under the sparse secret; mod_raise it first");
  }
}

SecretBuffer<double> Decryptor::decrypt(const Ciphertext& x) const {
  check_readable(home_, key_->id(), x);
  const Ring& ring = context_.ring();
  const LimbList limbs = message_limbs(context_.parameters(), context_.limbs(x.level, Basis::kQ), x.scale);
  const SecretPolys message = phase(home_, *key_, x, limbs);
  SecretBuffer<std::uint64_t> words = plain_residues(ring, *message);
  const MixedRadix radix(ring, limbs);
  SecretBuffer<double> coefficients(ring.degree());
  for (std::uint32_t i = 0; i < ring.degree(); ++i) coefficients[i] = radix.value(&words[i], ring.degree());
  return coefficients;
}

}  // namespace lw
