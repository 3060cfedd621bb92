// Integer vectors modulo t to plaintext polynomials and back (batching).
#pragma once

#include <complex>
#include <memory>
#include <span>
#include <vector>

#include "rlwe/integer_plaintexts.hpp"

namespace lw::bfv {

/// A polynomial modulo t in coefficient form, on the host: one limb, that of t, or without batching its coefficients.
/// Belongs to no level.
struct Message {
  std::shared_ptr<const RnsPolys> residues;
  std::shared_ptr<const SecretBuffer<std::uint64_t>> coefficients;
  Fingerprint parameters{};
};

/// Two rows of N/2 slots. Slot i of the first row is the value at psi^(5^i), psi the smallest primitive 2N-th root of
/// unity modulo t; slot i of the second row the value at psi^(-5^i). So the Galois element 5^k rotates both rows left
/// by k, and 2N - 1 swaps them. Errors: lw::Error kParameterMismatch, kShape, kRange, kLevel.
class Encoder {
 public:
  explicit Encoder(const Context& context);

  /// N residues in [0, t), row by row.
  Message encode(std::span<const std::uint64_t> residues) const;
  std::vector<std::uint64_t> decode(const Message& message) const;
  /// The N coefficients, in [0, t), of a message that holds them; `to_message` makes one.
  std::vector<std::uint64_t> coefficients(const Message& message) const;

  /// round(Q/t * m): what is encrypted, or added to a ciphertext.
  Plaintext addend(const Message& message, Level level) const;
  /// m with centred coefficients: what a ciphertext is multiplied by.
  Plaintext factor(const Message& message, Level level) const;

  /// Public values in two steps, the first of which does not depend on the level: n integers (|x| <= 2^53, n a power of
  /// two <= N/2), repeated in both rows, as the centred coefficients of their message.
  std::vector<std::int64_t> round(std::span<const std::complex<double>> values) const;
  Plaintext addend(const Integers& rounded, Level level) const;
  Plaintext factor(const Integers& rounded, Level level, Basis basis) const;

 private:
  /// Residues in the order of NTT positions.
  Message from_slots(std::span<const std::uint64_t> ordered) const;
  /// message: limbs of `context`, which is home_ or its twin.
  Plaintext lift(const Context& context, ConstLimbView message, Level level, const BaseConversionTable& table) const;
  Plaintext addend(const Context& context, ConstLimbView message, Level level) const;
  /// The same of a message without batching.
  Plaintext addend_of_coefficients(const Message& message, Level level) const;
  void require_batching(const char* op) const;

  const Context& home_;                  // where plaintexts are used
  const Context& context_;               // where messages are, on the host
  std::vector<std::uint32_t> position_;  // of each slot in NTT order
};

/// Coefficients of a polynomial modulo t (canonical) as a message on the host.
Message to_message(const Context& context, std::span<const std::uint64_t> coefficients);

}  // namespace lw::bfv
