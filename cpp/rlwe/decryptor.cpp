#include "rlwe/decryptor.hpp"

#include <algorithm>

#include "math/error.hpp"
#include "math/modulus.hpp"
#include "rlwe/key_switch.hpp"

namespace lw {
namespace {

constexpr std::size_t kMostLimbs = 2;  // whose product fits 128 bits

/// x - q if x > q / 2, without a branch.
double centred(std::uint64_t x, std::uint64_t q) noexcept {
  const std::uint64_t is_upper = 0 - static_cast<std::uint64_t>(x > q / 2);
  return static_cast<double>(static_cast<std::int64_t>(x - (q & is_upper)));
}

/// The centred integer that is x0 mod q0 and x1 mod q1. Split at bit 60 around zero, so that small values are exact.
double centred(std::uint64_t x0, std::uint64_t x1, const Modulus& m0, const Modulus& m1,
               std::uint64_t inverse) noexcept {
  const U128 product = static_cast<U128>(m0.value()) * m1.value();
  const std::uint64_t high_digit = m1.mul(m1.sub(x1, m1.reduce(x0)), inverse);
  const U128 x = x0 + static_cast<U128>(m0.value()) * high_digit;
  const U128 is_upper = 0 - static_cast<U128>(x > product / 2);
  const I128 value = static_cast<I128>(x - (product & is_upper));
  const I128 high = (value + (I128{1} << 59)) >> 60;
  return static_cast<double>(static_cast<std::int64_t>(high)) * 0x1p60 +
         static_cast<double>(static_cast<std::int64_t>(value - high * (I128{1} << 60)));
}

}  // namespace

SecretRows phase(const Context& context, const SecretKey& key, const Ciphertext& x, const LimbList& limbs) {
  const Ring& ring = context.ring();
  const SecretRows secret = key.ntt(ring, limbs);
  SecretRows message(ring, limbs, 1), term(ring, limbs, 1);
  copy_limbs(ring, *message, 0, *x.rows, x.degree());
  for (std::uint32_t i = x.degree(); i-- > 0;) {  // Horner in the secret
    ring.kernels().mul(ring.queue(), message->rows(), message->rows(), secret->rows());
    copy_limbs(ring, *term, 0, *x.rows, i);
    ring.kernels().add(ring.queue(), message->rows(), message->rows(), term->rows());
  }
  ring.kernels().intt(ring.queue(), message->rows());
  return message;
}

SecretBuffer<std::uint64_t> plain_residues(const Ring& ring, const PolyRows& x) {
  SecretBuffer<std::uint64_t> out(x.limbs().size() * ring.degree());
  std::vector<std::size_t> offsets;
  for (std::size_t j = 0; j < x.limbs().size(); ++j) offsets.push_back(j * ring.degree() * sizeof(std::uint64_t));
  const std::vector<std::uint8_t> widths(x.limbs().size(), 64);
  ring.kernels().export_residues(ring.queue(), {reinterpret_cast<std::byte*>(out.data()), offsets, widths}, x.rows());
  return out;
}

Decryptor::Decryptor(const Context& context, std::shared_ptr<const SecretKey> key)
    : context_(context), key_(std::move(key)) {
  check_parameters(key_->parameters(), context.parameters(), "Decryptor: the secret key");
}

SecretBuffer<double> Decryptor::decrypt(const Ciphertext& x) const {
  check_parameters(x.parameters, context_.parameters(), "decrypt: the ciphertext");
  if (context_.parameters().is_bfv()) {
    throw Error(ErrorKind::kParameterMismatch,
                "decrypt: this is a BFV ciphertext, whose message only the decryptor of "
                "BFV can read");
  }
  check_key_set(x.key_set, key_->id(), "decrypt: the ciphertext");
  if (x.basis != Basis::kQ) throw Error(ErrorKind::kShape, "decrypt: the ciphertext is over QP; mod_down it first");
  if (x.secret != SecretKind::kMain) {
    throw Error(ErrorKind::kShape, "decrypt: the ciphertext is under the sparse secret; mod_raise it first");
  }
  const Ring& ring = context_.ring();
  LimbList limbs = context_.limbs(x.level, Basis::kQ);
  limbs.resize(std::min(limbs.size(), kMostLimbs));
  const SecretRows message = phase(context_, *key_, x, limbs);
  const SecretBuffer<std::uint64_t> words = plain_residues(ring, *message);
  const std::uint32_t n = ring.degree();
  const Modulus& m0 = ring.modulus(limbs[0]);
  const Modulus& m1 = ring.modulus(limbs.back());
  const std::uint64_t inverse = limbs.size() == 2 ? m1.inverse(m1.reduce(m0.value())) : 0;
  SecretBuffer<double> coefficients(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    coefficients[i] =
        limbs.size() == 1 ? centred(words[i], m0.value()) : centred(words[i], words[n + i], m0, m1, inverse);
  }
  return coefficients;
}

}  // namespace lw
