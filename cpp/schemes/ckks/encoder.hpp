// Slot vectors to plaintext polynomials and back.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "rlwe/ciphertext.hpp"

namespace lw::ckks {

/// Slot vectors scaled and rounded, not yet reduced by any prime: a fraction of the size of a plaintext, which is
/// lifted from it. The 2n coefficients that n slots sit in; in `narrow` if all are small enough.
struct Rounded {
  std::vector<std::int32_t> narrow;
  std::vector<std::int64_t> wide;

  std::size_t size() const noexcept { return narrow.size() + wide.size(); }
  std::size_t num_bytes() const noexcept { return narrow.size() * sizeof(narrow[0]) + wide.size() * sizeof(wide[0]); }
  std::size_t hash() const noexcept;
  bool operator==(const Rounded&) const = default;
};

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

  /// The same in two steps, the first of which does not depend on the level. For public values: they are not wiped.
  Rounded round(std::span<const std::complex<double>> values, double scale) const;
  Plaintext lift(const Rounded& rounded, Level level, double scale, Basis basis = Basis::kQ) const;

  /// The inverse, from all N centred coefficients: reads the `slots` that a periodic value has.
  std::vector<std::complex<double>> decode(std::span<const double> coefficients, double scale,
                                           std::uint32_t slots) const;

 private:
  void check_slots(std::size_t slots) const;
  void round(std::span<const std::complex<double>> values, double scale, std::span<std::int64_t> coefficients) const;
  Plaintext lift(std::span<const std::int64_t> coefficients, Level level, double scale, Basis basis) const;

  const Context& context_;
};

}  // namespace lw::ckks
