// Vectors of four doubles by AVX2 and FMA, under the names that the kernels use. Only for files *_avx2.cpp: the
// anonymous namespace keeps each file's copy its own, so that none can replace generic code.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "backend/cpu/prime.hpp"

namespace lw::cpu {
namespace {

struct Avx2 {
  using F64 = __m256d;
  using I64 = __m256i;
  static constexpr std::size_t kLanes = 4;

  static F64 set(double x) noexcept { return _mm256_set1_pd(x); }
  static F64 load(const double* p) noexcept { return _mm256_loadu_pd(p); }
  static F64 load(const Word* p) noexcept { return _mm256_loadu_pd(reinterpret_cast<const double*>(p)); }
  static void store(Word* p, F64 x) noexcept { _mm256_storeu_pd(reinterpret_cast<double*>(p), x); }

  static F64 add(F64 a, F64 b) noexcept { return _mm256_add_pd(a, b); }
  static F64 sub(F64 a, F64 b) noexcept { return _mm256_sub_pd(a, b); }
  static F64 mul(F64 a, F64 b) noexcept { return _mm256_mul_pd(a, b); }
  static F64 neg(F64 a) noexcept { return _mm256_xor_pd(a, _mm256_set1_pd(-0.0)); }
  static F64 fma(F64 a, F64 b, F64 c) noexcept { return _mm256_fmadd_pd(a, b, c); }    // a b + c
  static F64 fms(F64 a, F64 b, F64 c) noexcept { return _mm256_fmsub_pd(a, b, c); }    // a b - c
  static F64 fnma(F64 a, F64 b, F64 c) noexcept { return _mm256_fnmadd_pd(a, b, c); }  // c - a b
  static F64 round(F64 a) noexcept { return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

  // The halves of 32 bits that `order` names.
  static F64 permute(F64 a, const std::int32_t* order) noexcept {
    const __m256i halves = _mm256_load_si256(reinterpret_cast<const __m256i*>(order));
    return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(a), halves));
  }

  // Rows to columns: lane i of vector j becomes lane j of vector i.
  static void transpose(F64& a, F64& b, F64& c, F64& d) noexcept {
    const F64 ab_even = _mm256_unpacklo_pd(a, b), ab_odd = _mm256_unpackhi_pd(a, b);
    const F64 cd_even = _mm256_unpacklo_pd(c, d), cd_odd = _mm256_unpackhi_pd(c, d);
    a = _mm256_permute2f128_pd(ab_even, cd_even, 0x20);
    b = _mm256_permute2f128_pd(ab_odd, cd_odd, 0x20);
    c = _mm256_permute2f128_pd(ab_even, cd_even, 0x31);
    d = _mm256_permute2f128_pd(ab_odd, cd_odd, 0x31);
  }

  // Four rows of four words, `step` words apart, as columns: lane i of v[j] is word j of row i. Halves go straight
  // between vectors and memory, which is half the shuffles of loading rows and transposing them.
  static void load_columns(F64 (&v)[4], const Word* p, std::ptrdiff_t step) noexcept {
    const F64 even_left = halves(p, p + 2 * step), odd_left = halves(p + step, p + 3 * step);
    const F64 even_right = halves(p + 2, p + 2 * step + 2), odd_right = halves(p + step + 2, p + 3 * step + 2);
    v[0] = _mm256_unpacklo_pd(even_left, odd_left);
    v[1] = _mm256_unpackhi_pd(even_left, odd_left);
    v[2] = _mm256_unpacklo_pd(even_right, odd_right);
    v[3] = _mm256_unpackhi_pd(even_right, odd_right);
  }
  static void store_columns(Word* p, std::ptrdiff_t step, const F64 (&v)[4]) noexcept {
    store_halves(p, p + 2 * step, _mm256_unpacklo_pd(v[0], v[1]));
    store_halves(p + step, p + 3 * step, _mm256_unpackhi_pd(v[0], v[1]));
    store_halves(p + 2, p + 2 * step + 2, _mm256_unpacklo_pd(v[2], v[3]));
    store_halves(p + step + 2, p + 3 * step + 2, _mm256_unpackhi_pd(v[2], v[3]));
  }
  static F64 halves(const Word* low, const Word* high) noexcept {
    const double* from = reinterpret_cast<const double*>(low);
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from)),
                                _mm_loadu_pd(reinterpret_cast<const double*>(high)), 1);
  }
  static void store_halves(Word* low, Word* high, F64 x) noexcept {
    _mm_storeu_pd(reinterpret_cast<double*>(low), _mm256_castpd256_pd128(x));
    _mm_storeu_pd(reinterpret_cast<double*>(high), _mm256_extractf128_pd(x, 1));
  }

  static I64 load(const std::int64_t* p) noexcept { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  // x = high_half(x) * 2^32 + low_half(x), the low half not negative.
  static F64 high_half(I64 x) noexcept {
    const __m256i odd = _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7));
    return _mm256_cvtepi32_pd(_mm256_castsi256_si128(odd));
  }
  static F64 low_half(I64 x) noexcept {
    const __m256d two52 = _mm256_set1_pd(0x1p52);
    const __m256i bits = _mm256_blend_epi32(x, _mm256_castpd_si256(two52), 0xaa);
    return _mm256_sub_pd(_mm256_castsi256_pd(bits), two52);
  }
};

/// One prime, broadcast, with the two ways of getting small residues. Error bounds: tools/prove_ranges.py.
template <class V>
struct PrimeVectors {
  using F64 = typename V::F64;
  F64 q, inverse;

  explicit PrimeVectors(const Prime& p) noexcept : q(V::set(p.q)), inverse(V::set(p.inverse)) {}

  /// A small residue of an integer |x| < 2^53.
  F64 reduce(F64 x) const noexcept { return V::fnma(V::round(V::mul(x, inverse)), q, x); }
  /// A small residue of a * b + c - c' q, where c' = rint(fl(a b) / q): for |a b| < 2^100 and |c| < q.
  F64 product(F64 a, F64 b) const noexcept {
    const F64 high = V::mul(a, b);
    const F64 quotient = V::round(V::mul(high, inverse));
    return V::add(V::fms(a, b, high), V::fnma(quotient, q, high));
  }
  /// The same for a factor w that comes with w_over_q = fl(w / q): one rounding more in the quotient, but shorter.
  F64 product(F64 x, F64 w, F64 w_over_q) const noexcept {
    const F64 high = V::mul(x, w);
    const F64 quotient = V::round(V::mul(x, w_over_q));
    return V::add(V::fms(x, w, high), V::fnma(quotient, q, high));
  }
};

}  // namespace
}  // namespace lw::cpu
