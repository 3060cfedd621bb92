// Slot vectors to plaintext polynomials and back.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "rlwe/integer_plaintexts.hpp"

namespace lw::ckks {

/// Throws lw::Error(kRange): a value is not finite, or a coefficient at this scale reaches 2^62.
[[noreturn]] void refuse_coefficients(double scale);

/// n slots, n a power of two <= N/2, sit in the coefficients that are multiples of N/(2n): the full slot
/// vector is then the n values repeated, and rotations act modulo n.
class Encoder {
 public:
  /// Throws lw::Error(kParameterMismatch) for BFV parameters.
  explicit Encoder(const Context& context);

  /// Coefficients rint(x * scale) of the inverse embedding. Throws lw::Error: kShape for a bad number of slots, kRange
  /// if a value is not finite or a coefficient reaches 2^62, kLevel if there is no such level.
  Plaintext encode(std::span<const std::complex<double>> values, Level level, double scale,
                   Basis basis = Basis::kQ) const;

  /// Throws as `encode` does for so many slots, and this scale.
  void check(std::size_t slots, double scale) const;

  /// The same in two steps, the first of which does not depend on the level. For public values: they are not wiped, and
  /// are lifted where the context is.
  /// n slots are 2n coefficients.
  std::vector<std::int64_t> round(std::span<const std::complex<double>> values, double scale) const;
  Plaintext lift(const Integers& rounded, Level level, double scale, Basis basis = Basis::kQ) const;

  /// The inverse, from all N centred coefficients: reads the `slots` that a periodic value has.
  std::vector<std::complex<double>> decode(std::span<const double> coefficients, double scale,
                                           std::uint32_t slots) const;

 private:
  void check_slots(std::size_t slots) const;
  void round(std::span<const std::complex<double>> values, double scale, std::span<std::int64_t> coefficients) const;

  const Context& context_;
};

}  // namespace lw::ckks
