#include "schemes/bfv/encoder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "math/bits.hpp"
#include "math/entropy.hpp"
#include "math/error.hpp"
#include "rlwe/key_switch.hpp"
#include "schemes/bfv/tables.hpp"

namespace lw::bfv {
namespace {

constexpr std::size_t kNoOffset[] = {0};
constexpr std::uint8_t kWordWidth[] = {64};
constexpr double kMaxInteger = 0x1p53;

bool is_integer(std::complex<double> value) noexcept {
  const double x = value.real();
  return std::abs(x) <= kMaxInteger && x == std::rint(x) && value.imag() == 0;
}

}  // namespace

Message to_message(const Context& context, std::span<const std::uint64_t> coefficients) {
  const Ring& ring = context.host().ring();
  if (!context.parameters().has_batching()) {
    const std::uint64_t t = context.parameters().fields().plain_modulus;
    auto held = std::make_shared<SecretBuffer<std::uint64_t>>(coefficients.size());
    std::uint64_t above = 0;
    for (std::size_t i = 0; i < coefficients.size(); ++i) {
      (*held)[i] = coefficients[i];
      above |= static_cast<std::uint64_t>(coefficients[i] >= t);
    }
    if (above != 0 || coefficients.size() != context.degree()) {
      throw Error(ErrorKind::kRange, "encode: needs N values below the plaintext modulus " + std::to_string(t));
    }
    return {nullptr, std::move(held), context.parameters().fingerprint()};
  }
  RnsPolys poly(ring, {context.parameters().plain_limb()}, 1);
  const PackedLimbs words{reinterpret_cast<const std::byte*>(coefficients.data()), kNoOffset, kWordWidth};
  if (!ring.import_residues(poly.view(), words)) {
    throw Error(ErrorKind::kRange, "encode: a value is not below the plaintext modulus " +
                                       std::to_string(context.parameters().fields().plain_modulus));
  }
  return {std::make_shared<const RnsPolys>(std::move(poly)), nullptr, context.parameters().fingerprint()};
}

Encoder::Encoder(const Context& context) : home_(context), context_(context.host()), position_(context.degree()) {
  require_bfv(context.parameters(), "Encoder");
  const std::uint32_t n = context.degree(), row = n / 2, log_n = static_cast<std::uint32_t>(std::countr_zero(n));
  std::uint64_t exponent = 1;  // 5^i modulo 2N
  for (std::uint32_t i = 0; i < row; ++i, exponent = exponent * 5 % (2ull * n)) {
    position_[i] = reverse_bits(static_cast<std::uint32_t>((exponent - 1) / 2), log_n);
    position_[row + i] = reverse_bits(static_cast<std::uint32_t>((2ull * n - exponent - 1) / 2), log_n);
  }
}

void Encoder::require_batching(const char* op) const {
  if (context_.parameters().has_batching()) return;
  throw Error(ErrorKind::kShape, std::string(op) + ": the plaintext modulus " +
                                     std::to_string(context_.parameters().fields().plain_modulus) +
                                     " has no slots; encode coefficients");
}

Message Encoder::encode(std::span<const std::uint64_t> residues) const {
  require_batching("encode");
  if (residues.size() != context_.degree()) {
    throw Error(ErrorKind::kShape, "encode: " + std::to_string(residues.size()) + " values, expected " +
                                       std::to_string(context_.degree()));
  }
  std::vector<std::uint64_t> ordered(residues.size());
  for (std::size_t i = 0; i < residues.size(); ++i) ordered[position_[i]] = residues[i];
  return from_slots(ordered);
}

Message Encoder::from_slots(std::span<const std::uint64_t> ordered) const {
  Message message = to_message(context_, ordered);
  const Ring& ring = context_.ring();
  RnsPolys poly = decompose(ring, message.residues->view());
  message.residues = std::make_shared<const RnsPolys>(std::move(poly));
  return message;
}

std::vector<std::uint64_t> Encoder::decode(const Message& message) const {
  require_batching("decode");
  const Ring& ring = context_.ring();
  RnsPolys poly(ring, message.residues->limbs(), 1);
  ring.kernels().ntt(ring.queue(), poly.view(), message.residues->view());
  std::vector<std::uint64_t> ordered(context_.degree()), residues(context_.degree());
  const PackedLimbsOut words{reinterpret_cast<std::byte*>(ordered.data()), kNoOffset, kWordWidth};
  ring.export_residues(words, poly.view());
  for (std::size_t i = 0; i < residues.size(); ++i) residues[i] = ordered[position_[i]];
  return residues;
}

std::vector<std::uint64_t> Encoder::coefficients(const Message& message) const {
  if (message.coefficients != nullptr) return {message.coefficients->begin(), message.coefficients->end()};
  std::vector<std::uint64_t> words(context_.degree());
  const PackedLimbsOut packed{reinterpret_cast<std::byte*>(words.data()), kNoOffset, kWordWidth};
  context_.ring().export_residues(packed, message.residues->view());
  return words;
}

Plaintext Encoder::lift(const Context& context, ConstLimbView message, Level level,
                        const BaseConversionTable& table) const {
  const Ring& ring = context.ring();
  RnsPolys poly(ring, table.to, 1);
  ring.kernels().base_convert(ring.queue(), poly.view(), message, table);
  ring.kernels().ntt(ring.queue(), poly.view(), poly.view());
  return {home_.here(std::make_shared<const RnsPolys>(std::move(poly))),
          level,
          Basis::kQ,
          1.0,
          context.degree() / 2,
          context.parameters().fingerprint()};
}

Plaintext Encoder::addend(const Context& context, ConstLimbView message, Level level) const {
  const LimbList t{context.parameters().plain_limb()}, q = context.limbs(level, Basis::kQ);
  const Ring& ring = context.ring();
  return lift(context, message, level, rounded_quotient(ring, t, q, ring.product_mod(q, t)));
}

// round(Q/t * m) = (Q * m - r) / t with r = Q * m modulo t, centred
Plaintext Encoder::addend_of_coefficients(const Message& message, Level level) const {
  const Ring& ring = context_.ring();
  const LimbList q = context_.limbs(level, Basis::kQ);
  const Modulus t(context_.parameters().fields().plain_modulus);
  std::uint64_t product = 1 % t.value();
  for (const std::uint16_t limb : q) product = t.mul(product, t.reduce(ring.modulus(limb).value()));
  SecretBuffer<std::int64_t> rest(context_.degree());
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = t.centred(t.mul(product, (*message.coefficients)[i]));
  std::vector<Word> scalars;
  for (const std::uint16_t limb : q) {
    const Modulus& prime = ring.modulus(limb);
    scalars.push_back(prime.neg(prime.inverse(prime.reduce(t.value()))));
  }
  RnsPolys poly(ring, q, 1);
  ring.kernels().import_signed(ring.queue(), poly.view(), rest.span());
  ring.kernels().mul_scalar(ring.queue(), poly.view(), std::as_const(poly).view(), scalars);
  ring.kernels().ntt(ring.queue(), poly.view(), poly.view());
  return {home_.here(std::make_shared<const RnsPolys>(std::move(poly))),
          level,
          Basis::kQ,
          1.0,
          context_.degree() / 2,
          context_.parameters().fingerprint()};
}

Plaintext Encoder::addend(const Message& message, Level level) const {
  if (message.coefficients != nullptr) return addend_of_coefficients(message, level);
  return addend(context_, message.residues->view(), level);
}

Plaintext Encoder::factor(const Message& message, Level level) const {
  if (message.coefficients != nullptr) {
    const Modulus t(context_.parameters().fields().plain_modulus);
    SecretBuffer<std::int64_t> centred(context_.degree());
    for (std::size_t i = 0; i < centred.size(); ++i) centred[i] = t.centred((*message.coefficients)[i]);
    Plaintext plain = lift_integers(context_, centred.span(), level, 1.0, Basis::kQ);
    plain.residues = home_.here(std::move(plain.residues));
    return plain;
  }
  const LimbList t{context_.parameters().plain_limb()};
  return lift(context_, message.residues->view(), level,
              context_.ring().base_conversion_table(t, context_.limbs(level, Basis::kQ)));
}

std::vector<std::int64_t> Encoder::round(std::span<const std::complex<double>> values) const {
  require_batching("encode");
  const std::size_t row = context_.degree() / 2, n = values.size();
  if (!std::has_single_bit(n) || n > row) {
    throw Error(ErrorKind::kShape, "encode: " + std::to_string(n) + " slots; a power of two up to " +
                                       std::to_string(row) + " is needed, pad the values");
  }
  const Modulus& t = context_.ring().modulus(context_.parameters().plain_limb());
  std::vector<std::uint64_t> slots(2 * row);
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_integer(values[i])) {
      throw Error(ErrorKind::kRange, "encode: " + std::to_string(values[i].real()) +
                                         " is no integer of at most 53 bits; slots hold integers modulo " +
                                         std::to_string(t.value()));
    }
    const std::uint64_t residue = t.from_signed(static_cast<std::int64_t>(values[i].real()));
    for (std::size_t j = i; j < 2 * row; j += n) slots[position_[j]] = residue;
  }
  std::vector<std::int64_t> centred(2 * row);
  std::ranges::transform(coefficients(from_slots(slots)), centred.begin(),
                         [&t](std::uint64_t word) { return t.centred(word); });
  return centred;
}

Plaintext Encoder::addend(const Integers& rounded, Level level) const {
  require_batching("encode");
  const Ring& ring = home_.ring();
  RnsPolys poly(ring, {home_.parameters().plain_limb()}, 1);
  ring.kernels().import_integers(ring.queue(), poly.view(), rounded.view());
  return addend(home_, std::as_const(poly).view(), level);
}

Plaintext Encoder::factor(const Integers& rounded, Level level, Basis basis) const {
  return lift_integers(home_, rounded, level, 1.0, basis);
}

}  // namespace lw::bfv
