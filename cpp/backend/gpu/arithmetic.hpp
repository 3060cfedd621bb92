// The common base of both arithmetics of GPU kernels: operations that device compilers and the host's name differently,
// and what is known of a prime as an integer. An arithmetic is a struct A (fp64.hpp, u64.hpp):
//   Value        a residue in a register; from_word and to_word give the word at rest
//   Prime        what kernels know of a prime, derived from IntegerPrime
//   Twiddle      a fixed factor, of transforms and conversions
//   Sum          a sum of products, with SumLimits
//   ConversionParts  the parts of one coefficient in a base conversion, and their quotient
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "backend/gpu/phase.hpp"
#include "math/bits.hpp"
#include "math/modulus.hpp"

namespace lw::gpu {

/// Doubles for primes below 2^50, or 64-bit integers for those below 2^60.
enum class Arithmetic { kFp64, kU64 };

LW_GPU double fused_multiply_add(double a, double b, double c) noexcept {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

/// The integer next to x, ties to even.
LW_GPU double nearest(double x) noexcept {
#if defined(__CUDA_ARCH__)
  return rint(x);
#else
  return std::rint(x);
#endif
}
/// The same for |x| <= 2^51, in two additions, and for the exact product |x y| <= 2^51.
inline constexpr double kToInteger = 0x1.8p52;
LW_GPU double nearest_small(double x) noexcept { return (x + kToInteger) - kToInteger; }
LW_GPU double nearest_product(double x, double y) noexcept { return fused_multiply_add(x, y, kToInteger) - kToInteger; }

LW_GPU double double_of_bits(std::uint64_t bits) noexcept {
#if defined(__CUDA_ARCH__)
  return __longlong_as_double(static_cast<long long>(bits));
#else
  return std::bit_cast<double>(bits);
#endif
}
LW_GPU std::uint64_t bits_of_double(double x) noexcept {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint64_t>(__double_as_longlong(x));
#else
  return std::bit_cast<std::uint64_t>(x);
#endif
}

/// The upper word of a product.
LW_GPU std::uint64_t mul_high(std::uint64_t a, std::uint64_t b) noexcept {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#elif defined(__SYCL_DEVICE_ONLY__)
  return sycl::mul_hi(a, b);
#else
  return static_cast<std::uint64_t>(static_cast<U128>(a) * b >> 64);
#endif
}

/// The lowest `bits` bits of x in reverse order, 1 to 32 of them.
LW_GPU std::uint32_t bit_reverse(std::uint32_t x, unsigned bits) noexcept {
#if defined(__CUDA_ARCH__)
  return __brev(x) >> (32 - bits);
#else
  return reverse_bits(x, bits);
#endif
}

/// A prime with its Barrett constants.
struct IntegerPrime {
  std::uint64_t value;
  std::uint64_t ratio_high, ratio_low;  // floor(2^128 / q)
  std::uint64_t largest_word;           // of a keystream that is taken: below the largest multiple of q

  LW_GPU std::uint64_t below(std::uint64_t x) const noexcept { return x - (x >= value ? value : 0); }
  LW_GPU std::uint64_t negated(std::uint64_t x) const noexcept { return x == 0 ? 0 : value - x; }
  /// Any word to its canonical residue: the quotient is one too small at most.
  LW_GPU std::uint64_t reduce(std::uint64_t x) const noexcept { return below(x - mul_high(x, ratio_high) * value); }
  LW_GPU std::uint64_t from_signed(std::int64_t x) const noexcept {
    const std::uint64_t word = static_cast<std::uint64_t>(x);
    return x < 0 ? negated(reduce(0 - word)) : reduce(word);
  }
};

}  // namespace lw::gpu
