// Vectors of eight doubles by AVX-512 (F, DQ, BW and VL), under the names that the kernels use; see vectors_avx2.hpp.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "backend/cpu/prime.hpp"
#include "backend/cpu/vectors_avx2.hpp"
#include "math/words_avx512.hpp"

namespace lw::cpu {
namespace {

struct Avx512 {
  using F64 = __m512d;
  using I64 = __m512i;
  using Narrow = Avx2;
  using Stream = Words16;                          // a block of keystream in each word
  static constexpr std::size_t kStreamStates = 2;  // of keystream at once
  static constexpr std::size_t kWords = 8;
  static constexpr std::size_t kSums = 8;  // side by side, that 32 registers hold

  static F64 set(double x) noexcept { return _mm512_set1_pd(x); }
  static F64 load(const double* p) noexcept { return _mm512_loadu_pd(p); }
  static F64 load(const Word* p) noexcept { return _mm512_loadu_pd(p); }
  static void store(double* p, F64 x) noexcept { _mm512_storeu_pd(p, x); }
  static void store(Word* p, F64 x) noexcept { _mm512_storeu_pd(p, x); }
  /// Past the caches, to a word at a whole vector from the start of a line; seen by others after `finish`.
  static void stream(Word* p, F64 x) noexcept { _mm512_stream_pd(reinterpret_cast<double*>(p), x); }
  static void finish_streams() noexcept { _mm_sfence(); }
  [[gnu::always_inline]] static void prefetch(const Word* p) noexcept {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
  }
  [[gnu::always_inline]] static void prefetch_to_write(Word* p) noexcept { asm volatile("prefetchw %0" : : "m"(*p)); }
  /// Two or four doubles, repeated.
  static F64 repeat2(const double* p) noexcept { return _mm512_broadcast_f64x2(_mm_loadu_pd(p)); }
  static F64 repeat4(const double* p) noexcept { return _mm512_broadcast_f64x4(_mm256_loadu_pd(p)); }

  static F64 add(F64 a, F64 b) noexcept { return _mm512_add_pd(a, b); }
  static F64 sub(F64 a, F64 b) noexcept { return _mm512_sub_pd(a, b); }
  static F64 mul(F64 a, F64 b) noexcept { return _mm512_mul_pd(a, b); }
  static F64 neg(F64 a) noexcept { return _mm512_xor_pd(a, _mm512_set1_pd(-0.0)); }
  static F64 fma(F64 a, F64 b, F64 c) noexcept { return _mm512_fmadd_pd(a, b, c); }
  static F64 fnma(F64 a, F64 b, F64 c) noexcept { return _mm512_fnmadd_pd(a, b, c); }
  static F64 add_rest(F64 a, F64 b, F64 c, F64 d) noexcept { return add(_mm512_fmsub_pd(a, b, c), d); }
  static F64 round(F64 a) noexcept { return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F64 sub_above(F64 x, F64 bound, F64 y) noexcept {
    return _mm512_mask_sub_pd(x, _mm512_cmp_pd_mask(x, bound, _CMP_GT_OQ), x, y);
  }
  static F64 add_below_zero(F64 x, F64 y) noexcept {
    return _mm512_mask_add_pd(x, _mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_LT_OQ), x, y);
  }

  struct alignas(64) Order {
    std::int64_t places[8];
    constexpr void set(std::size_t k, std::size_t from) noexcept { places[k] = static_cast<std::int64_t>(from); }
  };
  static F64 reorder(F64 a, const Order& order) noexcept {
    return _mm512_permutexvar_pd(_mm512_load_si512(order.places), a);
  }
  /// Word k is word order[k] of a, or word order[k] - 8 of b.
  static F64 merge(F64 a, F64 b, const Order& order) noexcept {
    return _mm512_permutex2var_pd(a, _mm512_load_si512(order.places), b);
  }
  /// The lower halves of both, and the upper ones.
  static F64 low_halves(F64 a, F64 b) noexcept { return _mm512_insertf64x4(a, _mm512_castpd512_pd256(b), 1); }
  static F64 high_halves(F64 a, F64 b) noexcept { return _mm512_shuffle_f64x2(a, b, 0b11'10'11'10); }

  static I64 set_words(std::uint64_t x) noexcept { return _mm512_set1_epi64(static_cast<std::int64_t>(x)); }
  static I64 load(const std::int64_t* p) noexcept { return _mm512_loadu_si512(p); }
  static I64 load_words(const Word* p) noexcept { return _mm512_loadu_si512(p); }
  static void store_words(Word* p, I64 x) noexcept { _mm512_storeu_si512(p, x); }
  static F64 from_words(I64 x) noexcept { return _mm512_cvtepi64_pd(x); }
  static I64 to_words(F64 x) noexcept { return _mm512_cvtpd_epi64(x); }
  static F64 signed_high(I64 x) noexcept { return _mm512_cvtepi64_pd(_mm512_srai_epi64(x, 32)); }
  static F64 upper_half(I64 x) noexcept { return _mm512_cvtepu64_pd(_mm512_andnot_si512(set_words(0xffff'ffff), x)); }
  static F64 low_half(I64 x) noexcept { return _mm512_cvtepi64_pd(_mm512_and_si512(x, set_words(0xffff'ffff))); }

  class Above {
   public:
    explicit Above(std::uint64_t bound) noexcept : bound_(set_words(bound)) {}
    void show(I64 x) noexcept { found_ = _kor_mask8(found_, _mm512_cmpgt_epu64_mask(x, bound_)); }
    bool none() const noexcept { return found_ == 0; }

   private:
    const I64 bound_;
    __mmask8 found_ = 0;
  };

  static I64 load_pairs(const std::byte* from, const std::size_t (&places)[4]) noexcept {
    const auto pair = [&](std::size_t i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + places[i]));
    };
    const __m256i low = _mm256_set_m128i(pair(1), pair(0)), high = _mm256_set_m128i(pair(3), pair(2));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  static I64 reorder_bytes(I64 x, I64 order) noexcept { return _mm512_shuffle_epi8(x, order); }
  static I64 shift_right(I64 x, I64 bits) noexcept { return _mm512_srlv_epi64(x, bits); }
  static I64 bit_and(I64 x, I64 y) noexcept { return _mm512_and_si512(x, y); }

  static F64 reals(F64 a) noexcept { return _mm512_movedup_pd(a); }
  static F64 imaginaries(F64 a) noexcept { return _mm512_permute_pd(a, 0xff); }
  static F64 swapped(F64 a) noexcept { return _mm512_permute_pd(a, 0x55); }
  static F64 conjugate(F64 a) noexcept {
    return _mm512_xor_pd(a, _mm512_setr_pd(0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0));
  }
  static F64 fma_sub_add(F64 a, F64 b, F64 c) noexcept { return _mm512_fmaddsub_pd(a, b, c); }
};

}  // namespace
}  // namespace lw::cpu
