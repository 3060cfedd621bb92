// Canonical embedding by radix-2 stages of half the ring's size. The order of
// operations below is part of the meaning of an encoding: it decides its bits.
#include "backend/embedding.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

#include "math/bits.hpp"
#include "math/double_double.hpp"

namespace lw {
namespace {

using Complex = std::complex<double>;

// Each part is one rounded product and one fused multiply-add.
inline Complex product(Complex a, Complex w) noexcept {
  return {std::fma(a.real(), w.real(), -(a.imag() * w.imag())), std::fma(a.real(), w.imag(), a.imag() * w.real())};
}

void reverse_order(std::span<Complex> values) noexcept {
  const unsigned bits = log2_exact(values.size());
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint32_t j = reverse_bits(i, bits);
    if (i < j) std::swap(values[i], values[j]);
  }
}

}  // namespace

std::vector<std::complex<double>> embedding_roots(std::uint32_t max_slots) {
  std::vector<std::complex<double>> roots(max_slots);
  for (std::uint64_t half = 1; half < max_slots; half *= 2) {
    std::uint64_t exponent = 1;  // 5^j mod 8 * half
    for (std::uint64_t j = 0; j < half; ++j) {
      const CosSin root = cos_sin_turn(exponent, 8 * half);
      roots[half + j] = {root.cos, root.sin};
      exponent = exponent * 5 % (8 * half);
    }
  }
  return roots;
}

void embed_values(std::span<const Complex> roots, std::span<Complex> values) noexcept {
  reverse_order(values);
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    for (std::size_t start = 0; start < values.size(); start += 2 * half) {
      Complex *a = &values[start], *b = a + half;
      for (std::size_t j = 0; j < half; ++j) {
        const Complex u = a[j], v = product(b[j], roots[half + j]);
        a[j] = u + v;
        b[j] = u - v;
      }
    }
  }
}

void unembed_values(std::span<const Complex> roots, std::span<Complex> values) noexcept {
  for (std::size_t half = values.size() / 2; half >= 1; half /= 2) {
    for (std::size_t start = 0; start < values.size(); start += 2 * half) {
      Complex *a = &values[start], *b = a + half;
      for (std::size_t j = 0; j < half; ++j) {
        const Complex u = a[j], v = b[j];
        a[j] = u + v;
        b[j] = product(u - v, std::conj(roots[half + j]));
      }
    }
  }
  reverse_order(values);
  const double scale = 1.0 / static_cast<double>(values.size());  // a power of two: exact
  for (Complex& value : values) value *= scale;
}

}  // namespace lw
