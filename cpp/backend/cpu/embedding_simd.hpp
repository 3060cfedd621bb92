// Complex numbers side by side in a vector, real and imaginary parts alternating.
#pragma once

#include <cstddef>

namespace lw::cpu {
namespace {

/// (fma(ar, wr, -(ai wi)), fma(ar, wi, ai wr)) of each number.
template <class V>
inline typename V::F64 complex_product(typename V::F64 a, typename V::F64 w) noexcept {
  return V::fma_sub_add(V::reals(a), w, V::mul(V::imaginaries(a), V::swapped(w)));
}
template <class V>
inline void join_halves(typename V::F64& a, typename V::F64& b, typename V::F64 w) noexcept {
  const typename V::F64 u = a, v = complex_product<V>(b, w);
  a = V::add(u, v);
  b = V::sub(u, v);
}
template <class V>
inline void part_halves(typename V::F64& a, typename V::F64& b, typename V::F64 w) noexcept {  // w: not conjugated
  const typename V::F64 u = a, v = b;
  a = V::add(u, v);
  b = complex_product<V>(V::sub(u, v), V::conjugate(w));
}

/// The stage within pairs of adjacent numbers.
template <class V, bool kForward>
void adjacent_stage(double* x, std::size_t n, const double* roots) noexcept {
  static_assert(V::kWords == 4);
  using F64 = typename V::F64;
  const F64 w = V::repeat2(roots + 2);
  for (std::size_t i = 0; i < 2 * n; i += 4) {
    const F64 both = V::load(x + i);
    F64 a = V::low_twice(both), b = V::high_twice(both);
    if constexpr (kForward) {
      join_halves<V>(a, b, w);
    } else {
      part_halves<V>(a, b, w);
    }
    V::store(x + i, V::low_and_high(a, b));
  }
}

/// The stage that joins halves of `half` numbers, which fill vectors.
template <class V, bool kForward>
void one_stage(double* x, std::size_t n, std::size_t half, const double* roots) noexcept {
  for (std::size_t start = 0; start < 2 * n; start += 4 * half) {
    for (std::size_t j = 0; j < 2 * half; j += V::kWords) {
      double *pa = x + start + j, *pb = pa + 2 * half;
      typename V::F64 a = V::load(pa), b = V::load(pb);
      const typename V::F64 w = V::load(roots + 2 * half + j);
      if constexpr (kForward) {
        join_halves<V>(a, b, w);
      } else {
        part_halves<V>(a, b, w);
      }
      V::store(pa, a);
      V::store(pb, b);
    }
  }
}

/// The stages of `half` and of 2 * half: upwards if forward, downwards if not.
template <class V, bool kForward>
void two_stages(double* x, std::size_t n, std::size_t half, const double* roots) noexcept {
  using F64 = typename V::F64;
  for (std::size_t start = 0; start < 2 * n; start += 8 * half) {
    for (std::size_t j = 0; j < 2 * half; j += V::kWords) {
      double* p = x + start + j;
      F64 a = V::load(p), b = V::load(p + 2 * half), c = V::load(p + 4 * half), d = V::load(p + 6 * half);
      const F64 near = V::load(roots + 2 * half + j);
      const F64 far_low = V::load(roots + 4 * half + j), far_high = V::load(roots + 6 * half + j);
      if constexpr (kForward) {
        join_halves<V>(a, b, near);
        join_halves<V>(c, d, near);
        join_halves<V>(a, c, far_low);
        join_halves<V>(b, d, far_high);
      } else {
        part_halves<V>(a, c, far_low);
        part_halves<V>(b, d, far_high);
        part_halves<V>(a, b, near);
        part_halves<V>(c, d, near);
      }
      V::store(p, a);
      V::store(p + 2 * half, b);
      V::store(p + 4 * half, c);
      V::store(p + 6 * half, d);
    }
  }
}

/// The same with vectors that half as many numbers fill, at most.
template <class V, bool kForward>
void fitting_stages(double* x, std::size_t n, std::size_t half, const double* roots) noexcept {
  if (2 * half < V::kWords) {
    two_stages<typename V::Narrow, kForward>(x, n, half, roots);
  } else {
    two_stages<V, kForward>(x, n, half, roots);
  }
}
template <class V, bool kForward>
void fitting_stage(double* x, std::size_t n, std::size_t half, const double* roots) noexcept {
  if (2 * half < V::kWords) {
    one_stage<typename V::Narrow, kForward>(x, n, half, roots);
  } else {
    one_stage<V, kForward>(x, n, half, roots);
  }
}

template <class V>
void embed(double* x, std::size_t n, const double* roots) noexcept {
  adjacent_stage<typename V::Narrow, true>(x, n, roots);
  std::size_t half = 2;
  for (; 2 * half < n; half *= 4) fitting_stages<V, true>(x, n, half, roots);
  if (half < n) fitting_stage<V, true>(x, n, half, roots);
}

template <class V>
void unembed(double* x, std::size_t n, const double* roots) noexcept {
  std::size_t half = n / 2;
  for (; half >= 4; half /= 4) fitting_stages<V, false>(x, n, half / 2, roots);
  if (half == 2) fitting_stage<V, false>(x, n, half, roots);
  adjacent_stage<typename V::Narrow, false>(x, n, roots);
  const double scale = 1.0 / static_cast<double>(n);  // a power of two: exact
  for (std::size_t i = 0; i < 2 * n; ++i) x[i] *= scale;
}

}  // namespace
}  // namespace lw::cpu
