#include "schemes/ckks/encoder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "math/entropy.hpp"
#include "math/error.hpp"

namespace lw::ckks {
namespace {

constexpr double kMaxCoefficient = 0x1p62;

/// rint(x * scale), and whether it can be imported. NaN compares false.
bool round_scaled(double x, double scale, std::int64_t& out) noexcept {
  const double rounded = std::rint(x * scale);
  const bool fits = std::abs(rounded) < kMaxCoefficient;
  out = fits ? static_cast<std::int64_t>(rounded) : 0;
  return fits;
}

}  // namespace

Encoder::Encoder(const Context& context) : context_(context) {
  if (!context.parameters().is_bfv()) return;
  throw Error(ErrorKind::kParameterMismatch, "these are BFV parameters (they have a plain_modulus); CKKS needs others");
}

void Encoder::check_slots(std::size_t slots) const {
  if (std::has_single_bit(slots) && slots <= context_.degree() / 2) return;
  throw Error(ErrorKind::kShape, "Encoder: " + std::to_string(slots) + " slots; a power of two up to " +
                                     std::to_string(context_.degree() / 2) + " is needed, pad the values");
}

void Encoder::check(std::size_t slots, double scale) const {
  check_slots(slots);
  if (scale > 0 && std::isfinite(scale)) return;
  throw Error(ErrorKind::kScale, "encode: scale " + std::to_string(scale) + " is not positive and finite");
}

void refuse_coefficients(double scale) {
  throw Error(ErrorKind::kRange, "encode: a value is not finite, or too large for scale 2^" +
                                     std::to_string(std::log2(scale)) + " (coefficients must stay below 2^62)");
}

Plaintext Encoder::encode(std::span<const std::complex<double>> values, Level level, double scale, Basis basis) const {
  SecretBuffer<std::int64_t> coefficients(2 * values.size());
  round(values, scale, coefficients.span());
  Plaintext message = lift_integers(context_.host(), coefficients.span(), level, scale, basis);
  message.residues = context_.here(std::move(message.residues));
  return message;
}

std::vector<std::int64_t> Encoder::round(std::span<const std::complex<double>> values, double scale) const {
  const std::size_t n = values.size();
  std::vector<std::int64_t> coefficients(2 * n);
  round(values, scale, coefficients);
  if (std::ranges::all_of(values, [](const std::complex<double>& x) { return x.imag() == 0; })) {
    coefficients[n] = 0;  // mirrored, but for errors of the transform at ties
    for (std::size_t i = 1; i < n; ++i) coefficients[2 * n - i] = -coefficients[i];
  }
  return coefficients;
}

Plaintext Encoder::lift(const Integers& rounded, Level level, double scale, Basis basis) const {
  return lift_integers(context_, rounded, level, scale, basis);
}

void Encoder::round(std::span<const std::complex<double>> values, double scale,
                    std::span<std::int64_t> coefficients) const {
  check(values.size(), scale);
  const Ring& ring = context_.host().ring();
  const std::size_t n = values.size();
  SecretBuffer<std::complex<double>> folded(n);
  std::copy(values.begin(), values.end(), folded.begin());
  ring.kernels().unembed(ring.queue(), folded.span());
  bool fits = true;
  for (std::size_t i = 0; i < n; ++i) {
    fits &= round_scaled(folded[i].real(), scale, coefficients[i]);
    fits &= round_scaled(folded[i].imag(), scale, coefficients[i + n]);
  }
  if (!fits) refuse_coefficients(scale);
}

std::vector<std::complex<double>> Encoder::decode(std::span<const double> coefficients, double scale,
                                                  std::uint32_t slots) const {
  check_slots(slots);
  if (coefficients.size() != context_.degree()) {
    throw Error(ErrorKind::kShape, "decode: " + std::to_string(coefficients.size()) + " coefficients, expected " +
                                       std::to_string(context_.degree()));
  }
  const std::size_t gap = context_.degree() / (2 * std::size_t{slots});
  std::vector<std::complex<double>> values(slots);
  for (std::size_t i = 0; i < slots; ++i) {
    values[i] = {coefficients[i * gap] / scale, coefficients[(i + slots) * gap] / scale};
  }
  const Ring& ring = context_.host().ring();
  ring.kernels().embed(ring.queue(), values);
  return values;
}

}  // namespace lw::ckks
