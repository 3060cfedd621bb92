#include "schemes/bfv/encoder.hpp"

#include <bit>
#include <string>

#include "math/bits.hpp"
#include "math/error.hpp"
#include "rlwe/key_switch.hpp"
#include "schemes/bfv/tables.hpp"

namespace lw::bfv {
namespace {

constexpr std::size_t kNoOffset[] = {0};
constexpr std::uint8_t kWordWidth[] = {64};

}  // namespace

Message to_message(const Context& context, std::span<const std::uint64_t> coefficients) {
  const Ring& ring = context.ring();
  PolyRows rows(ring, {context.parameters().plain_limb()}, 1);
  const PackedRows words{reinterpret_cast<const std::byte*>(coefficients.data()), kNoOffset, kWordWidth};
  if (!ring.kernels().import_residues(ring.queue(), rows.rows(), words)) {
    throw Error(ErrorKind::kRange, "encode: a value is not below the plaintext modulus " +
                                       std::to_string(context.parameters().fields().plain_modulus));
  }
  return {std::make_shared<const PolyRows>(std::move(rows)), context.parameters().fingerprint()};
}

Encoder::Encoder(const Context& context) : context_(context), position_(context.degree()) {
  require_bfv(context.parameters(), "Encoder");
  const std::uint32_t n = context.degree(), row = n / 2, log_n = static_cast<std::uint32_t>(std::countr_zero(n));
  std::uint64_t exponent = 1;  // 5^i modulo 2N
  for (std::uint32_t i = 0; i < row; ++i, exponent = exponent * 5 % (2ull * n)) {
    position_[i] = reverse_bits(static_cast<std::uint32_t>((exponent - 1) / 2), log_n);
    position_[row + i] = reverse_bits(static_cast<std::uint32_t>((2ull * n - exponent - 1) / 2), log_n);
  }
}

Message Encoder::encode(std::span<const std::uint64_t> residues) const {
  if (residues.size() != context_.degree()) {
    throw Error(ErrorKind::kShape, "encode: " + std::to_string(residues.size()) + " values, expected " +
                                       std::to_string(context_.degree()));
  }
  std::vector<std::uint64_t> ordered(residues.size());
  for (std::size_t i = 0; i < residues.size(); ++i) ordered[position_[i]] = residues[i];
  Message message = to_message(context_, ordered);
  const Ring& ring = context_.ring();
  PolyRows rows = decompose(ring, message.rows->rows());
  message.rows = std::make_shared<const PolyRows>(std::move(rows));
  return message;
}

std::vector<std::uint64_t> Encoder::decode(const Message& message) const {
  const Ring& ring = context_.ring();
  PolyRows rows(ring, message.rows->limbs(), 1);
  copy_limbs(ring, rows, 0, *message.rows, 0);
  ring.kernels().ntt(ring.queue(), rows.rows());
  std::vector<std::uint64_t> ordered(context_.degree()), residues(context_.degree());
  const PackedRowsOut words{reinterpret_cast<std::byte*>(ordered.data()), kNoOffset, kWordWidth};
  ring.kernels().export_residues(ring.queue(), words, rows.rows());
  for (std::size_t i = 0; i < residues.size(); ++i) residues[i] = ordered[position_[i]];
  return residues;
}

Plaintext Encoder::lifted(const Message& message, Level level, const LiftTable& table) const {
  const Ring& ring = context_.ring();
  PolyRows rows(ring, table.to, 1);
  ring.kernels().lift(ring.queue(), rows.rows(), message.rows->rows(), table);
  ring.kernels().ntt(ring.queue(), rows.rows());
  return {std::make_shared<const PolyRows>(std::move(rows)),
          level,
          Basis::kQ,
          1.0,
          context_.degree() / 2,
          context_.parameters().fingerprint()};
}

Plaintext Encoder::addend(const Message& message, Level level) const {
  const LimbList t{context_.parameters().plain_limb()}, q = context_.limbs(level, Basis::kQ);
  const Ring& ring = context_.ring();
  return lifted(message, level, rounded_quotient(ring, t, q, ring.product_mod(q, t)));
}

Plaintext Encoder::factor(const Message& message, Level level) const {
  const LimbList t{context_.parameters().plain_limb()};
  return lifted(message, level, context_.ring().lift_table(t, context_.limbs(level, Basis::kQ)));
}

}  // namespace lw::bfv
