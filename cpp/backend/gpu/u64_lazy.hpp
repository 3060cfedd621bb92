// Butterflies of U64 for primes below 2^50, which leave the transforms' values as large as they get: those fit a word.
// tools/prove_ranges.py proves that, for every degree and every form of the transforms.
#pragma once

#include "backend/gpu/u64.hpp"

namespace lw::gpu {

inline constexpr std::uint32_t kLazyBits = 50;          // primes are below 2^kLazyBits
inline constexpr std::uint32_t kLazyMultipleBits = 13;  // 2^kLazyMultipleBits q is added to differences backwards

struct U64Lazy : U64 {
  static LW_GPU bool takes(const Prime& p) noexcept { return p.value >> kLazyBits == 0; }

  /// (a, b) -> (a + w b, a - w b), by less than 2q larger.
  static LW_GPU void forward(Value& a, Value& b, const Twiddle& w, const Prime& p) noexcept {
    const std::uint64_t u = a, v = mul_lazy(b, w, p);
    a = u + v;
    b = u - v + 2 * p.value;
  }
  static LW_GPU Value forward_end(Value x, const Prime& p) noexcept { return p.reduce(x); }
  /// (a, b) -> (a + b, w (b - a)): sums are twice as large, products below 2q. a is at most 2^kLazyMultipleBits q.
  static LW_GPU void inverse(Value& a, Value& b, const Twiddle& w, const Prime& p) noexcept {
    const std::uint64_t sum = a + b, difference = b - a + (p.value << kLazyMultipleBits);
    a = sum;
    b = mul_lazy(difference, w, p);
  }
  static LW_GPU Value inverse_pause(Value x, const Prime& p) noexcept { return p.reduce(x); }
  static LW_GPU void inverse_end(Value& a, Value& b, const Prime& p) noexcept {
    const std::uint64_t sum = a + b, difference = b - a + (p.value << kLazyMultipleBits);
    a = p.below(mul_lazy(sum, p.inverse_degree, p));
    b = p.below(mul_lazy(difference, p.inverse_degree_root, p));
  }
};

}  // namespace lw::gpu
