// Two complex numbers in a vector, real and imaginary parts alternating.
#include "backend/cpu/rows_avx2.hpp"
#include "backend/cpu/vectors_avx2.hpp"

namespace lw::cpu::avx2 {
namespace {

using F64 = __m256d;

inline F64 load(const double* p) noexcept { return _mm256_loadu_pd(p); }
inline void store(double* p, F64 x) noexcept { _mm256_storeu_pd(p, x); }

/// (fma(ar, wr, -(ai wi)), fma(ar, wi, ai wr)) for both numbers.
inline F64 product(F64 a, F64 w) noexcept {
  const F64 swapped = _mm256_permute_pd(w, 0b0101);
  return _mm256_fmaddsub_pd(_mm256_movedup_pd(a), w, _mm256_mul_pd(_mm256_permute_pd(a, 0b1111), swapped));
}
inline F64 conjugate(F64 w) noexcept { return _mm256_xor_pd(w, _mm256_setr_pd(0.0, -0.0, 0.0, -0.0)); }

inline void join(F64& a, F64& b, F64 w) noexcept {
  const F64 u = a, v = product(b, w);
  a = _mm256_add_pd(u, v);
  b = _mm256_sub_pd(u, v);
}
inline void part(F64& a, F64& b, F64 w) noexcept {  // w: conjugated
  const F64 u = a, v = b;
  a = _mm256_add_pd(u, v);
  b = product(_mm256_sub_pd(u, v), w);
}

/// The stage within pairs of adjacent numbers.
template <bool kForward>
void adjacent_stage(double* x, std::size_t n, const double* roots) noexcept {
  const F64 w = _mm256_setr_pd(roots[2], roots[3], roots[2], roots[3]);
  for (std::size_t i = 0; i < 2 * n; i += 4) {
    const F64 both = load(x + i);
    F64 a = _mm256_permute2f128_pd(both, both, 0x00), b = _mm256_permute2f128_pd(both, both, 0x11);
    if constexpr (kForward) {
      join(a, b, w);
    } else {
      part(a, b, conjugate(w));
    }
    store(x + i, _mm256_blend_pd(a, b, 0b1100));
  }
}

/// The stage that joins halves of `half` numbers, an even one.
template <bool kForward>
void one_stage(double* x, std::size_t n, std::size_t half, const double* roots) noexcept {
  for (std::size_t start = 0; start < 2 * n; start += 4 * half) {
    for (std::size_t j = 0; j < 2 * half; j += 4) {
      double *pa = x + start + j, *pb = pa + 2 * half;
      F64 a = load(pa), b = load(pb);
      if constexpr (kForward) {
        join(a, b, load(roots + 2 * half + j));
      } else {
        part(a, b, conjugate(load(roots + 2 * half + j)));
      }
      store(pa, a);
      store(pb, b);
    }
  }
}

/// The stages of `half` and of 2 * half: upwards if forward, downwards if not.
template <bool kForward>
void two_stages(double* x, std::size_t n, std::size_t half, const double* roots) noexcept {
  for (std::size_t start = 0; start < 2 * n; start += 8 * half) {
    for (std::size_t j = 0; j < 2 * half; j += 4) {
      double* p = x + start + j;
      F64 a = load(p), b = load(p + 2 * half), c = load(p + 4 * half), d = load(p + 6 * half);
      const F64 near = load(roots + 2 * half + j);
      const F64 far_low = load(roots + 4 * half + j), far_high = load(roots + 6 * half + j);
      if constexpr (kForward) {
        join(a, b, near);
        join(c, d, near);
        join(a, c, far_low);
        join(b, d, far_high);
      } else {
        part(a, c, conjugate(far_low));
        part(b, d, conjugate(far_high));
        part(a, b, conjugate(near));
        part(c, d, conjugate(near));
      }
      store(p, a);
      store(p + 2 * half, b);
      store(p + 4 * half, c);
      store(p + 6 * half, d);
    }
  }
}

}  // namespace

void embed(double* x, std::size_t n, const double* roots) noexcept {
  adjacent_stage<true>(x, n, roots);
  std::size_t half = 2;
  for (; 2 * half < n; half *= 4) two_stages<true>(x, n, half, roots);
  if (half < n) one_stage<true>(x, n, half, roots);
}

void unembed(double* x, std::size_t n, const double* roots) noexcept {
  std::size_t half = n / 2;
  for (; half >= 4; half /= 4) two_stages<false>(x, n, half / 2, roots);
  if (half == 2) one_stage<false>(x, n, half, roots);
  adjacent_stage<false>(x, n, roots);
  const F64 scale = _mm256_set1_pd(1.0 / static_cast<double>(n));  // a power of two: exact
  for (std::size_t i = 0; i < 2 * n; i += 4) store(x + i, _mm256_mul_pd(load(x + i), scale));
}

}  // namespace lw::cpu::avx2
