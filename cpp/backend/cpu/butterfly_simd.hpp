// Butterflies of the transforms, and some stages of them in registers.
#pragma once

#include <cstddef>
#include <utility>

#include "backend/cpu/prime_simd.hpp"

namespace lw::cpu {
namespace {

template <class V>
class Butterflies {
 public:
  using F64 = typename V::F64;
  /// A factor w that serves many times, with fl(w / q).
  struct Factor {
    F64 w, over_q;
  };

  explicit Butterflies(const Prime& p) noexcept : p_(p) {}

  Factor factor(double w) const noexcept { return {V::set(w), V::mul(V::set(w), p_.inverse)}; }

  F64 product(F64 x, const Factor& f) const noexcept { return p_.product(x, f.w, f.over_q); }
  F64 product(F64 x, F64 w) const noexcept { return p_.product(x, w); }
  F64 reduce(F64 x) const noexcept { return p_.reduce(x); }
  /// Reduces x[i] for every bit i of the mask.
  template <unsigned kMask, std::size_t kSize>
  void reduce_some(F64 (&x)[kSize]) const noexcept {
    [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      ((x[kI] = reduced<kMask, kI>(x[kI])), ...);
    }(std::make_index_sequence<kSize>());
  }

  // (a, b) -> (a + w b, a - w b)
  template <class W>
  void forward(F64& a, F64& b, const W& w) const noexcept {
    const F64 v = product(b, w);
    b = V::sub(a, v);
    a = V::add(a, v);
  }
  // (a, b) -> (a + b, w (b - a)): w is the negated inverse twiddle.
  template <class W>
  void inverse(F64& a, F64& b, const W& w) const noexcept {
    const F64 difference = V::sub(b, a);
    a = V::add(a, b);
    b = product(difference, w);
  }

  // w[1]: first stage, w[2], w[3]: second, ...
  template <unsigned kMask, std::size_t kSize, class W>
  [[gnu::always_inline]] void forward_stages(F64 (&v)[kSize], const W (&w)[kSize]) const noexcept {
    reduce_some<kMask>(v);
#pragma GCC unroll 8
    for (std::size_t blocks = 1; blocks < kSize; blocks *= 2) {
      const std::size_t half = kSize / blocks / 2;
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSize / 2; ++j) {
        const std::size_t block = j / half, place = block * 2 * half + j % half;
        forward(v[place], v[place + half], w[blocks + block]);
      }
    }
  }
  // The same backwards, with the reductions at the end.
  template <unsigned kMask, std::size_t kSize, class W>
  [[gnu::always_inline]] void inverse_stages(F64 (&v)[kSize], const W (&w)[kSize]) const noexcept {
#pragma GCC unroll 8
    for (std::size_t blocks = kSize / 2; blocks >= 1; blocks /= 2) {
      const std::size_t half = kSize / blocks / 2;
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSize / 2; ++j) {
        const std::size_t block = j / half, place = block * 2 * half + j % half;
        inverse(v[place], v[place + half], w[blocks + block]);
      }
    }
    reduce_some<kMask>(v);
  }

 private:
  template <unsigned kMask, unsigned kBit>
  F64 reduced(F64 x) const noexcept {
    if constexpr ((kMask >> kBit & 1) != 0) return p_.reduce(x);
    return x;
  }

  const PrimeVectors<V> p_;
};

}  // namespace
}  // namespace lw::cpu
