// Vectors of four doubles by AVX2 and FMA, under the names that the kernels use. Only for files named for an
// instruction set: the anonymous namespace keeps each file's copy its own, so that none can replace generic code.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "backend/cpu/prime.hpp"
#include "math/words_avx2.hpp"

namespace lw::cpu {
namespace {

struct Avx2 {
  using F64 = __m256d;
  using I64 = __m256i;
  using Narrow = Avx2;                             // of four words
  using Stream = Words8;                           // a block of keystream in each word
  static constexpr std::size_t kStreamStates = 1;  // of keystream at once
  static constexpr std::size_t kWords = 4;
  static constexpr std::size_t kSums = 4;  // side by side, that 16 registers hold

  static F64 set(double x) noexcept { return _mm256_set1_pd(x); }
  static F64 load(const double* p) noexcept { return _mm256_loadu_pd(p); }
  static F64 load(const Word* p) noexcept { return _mm256_loadu_pd(reinterpret_cast<const double*>(p)); }
  static void store(double* p, F64 x) noexcept { _mm256_storeu_pd(p, x); }
  static void store(Word* p, F64 x) noexcept { _mm256_storeu_pd(reinterpret_cast<double*>(p), x); }
  /// Past the caches, to a word at a whole vector from the start of a line; seen by others after `finish`.
  static void stream(Word* p, F64 x) noexcept { _mm256_stream_pd(reinterpret_cast<double*>(p), x); }
  static void finish_streams() noexcept { _mm_sfence(); }
  /// Asks for the cache line of a word; one past the end of a limb does no harm.
  [[gnu::always_inline]] static void prefetch_to_write(Word* p) noexcept { asm volatile("prefetchw %0" : : "m"(*p)); }
  [[gnu::always_inline]] static void prefetch(const Word* p) noexcept {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
  }

  static F64 add(F64 a, F64 b) noexcept { return _mm256_add_pd(a, b); }
  static F64 sub(F64 a, F64 b) noexcept { return _mm256_sub_pd(a, b); }
  static F64 mul(F64 a, F64 b) noexcept { return _mm256_mul_pd(a, b); }
  static F64 neg(F64 a) noexcept { return _mm256_xor_pd(a, _mm256_set1_pd(-0.0)); }
  static F64 fma(F64 a, F64 b, F64 c) noexcept { return _mm256_fmadd_pd(a, b, c); }    // a b + c
  static F64 fnma(F64 a, F64 b, F64 c) noexcept { return _mm256_fnmadd_pd(a, b, c); }  // c - a b
  /// d + (a b - c), of which each is rounded.
  static F64 add_rest(F64 a, F64 b, F64 c, F64 d) noexcept { return add(_mm256_fmsub_pd(a, b, c), d); }
  static F64 round(F64 a) noexcept { return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  /// x - (x > bound ? y : 0) and x + (x < 0 ? y : 0).
  static F64 sub_above(F64 x, F64 bound, F64 y) noexcept {
    return sub(x, _mm256_and_pd(_mm256_cmp_pd(x, bound, _CMP_GT_OQ), y));
  }
  static F64 add_below_zero(F64 x, F64 y) noexcept {
    return add(x, _mm256_and_pd(_mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_LT_OQ), y));
  }

  /// Word k of the result is word order[k].
  struct alignas(32) Order {
    std::int32_t halves[8];  // of 32 bits
    constexpr void set(std::size_t k, std::size_t from) noexcept {
      halves[2 * k] = static_cast<std::int32_t>(2 * from);
      halves[2 * k + 1] = halves[2 * k] + 1;
    }
  };
  static F64 reorder(F64 a, const Order& order) noexcept {
    const __m256i halves = _mm256_load_si256(reinterpret_cast<const __m256i*>(order.halves));
    return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(a), halves));
  }

  /// The lower half twice, the upper one twice, and the lower half of a with the upper one of b.
  static F64 low_twice(F64 a) noexcept { return _mm256_permute2f128_pd(a, a, 0x00); }
  static F64 high_twice(F64 a) noexcept { return _mm256_permute2f128_pd(a, a, 0x11); }
  static F64 low_and_high(F64 a, F64 b) noexcept { return _mm256_blend_pd(a, b, 0b1100); }
  /// Two doubles, repeated.
  static F64 repeat2(const double* p) noexcept { return _mm256_setr_pd(p[0], p[1], p[0], p[1]); }

  // Four limbs of four words, `step` words apart, as columns: word i of v[j] is word j of limb i. Halves go straight
  // between vectors and memory, which is half the shuffles of loading limbs and transposing them.
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

  static I64 set_words(std::uint64_t x) noexcept { return _mm256_set1_epi64x(static_cast<std::int64_t>(x)); }
  static I64 load(const std::int64_t* p) noexcept { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static I64 load_words(const Word* p) noexcept { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store_words(Word* p, I64 x) noexcept { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  /// Doubles of words below 2^52, and back.
  static F64 from_words(I64 x) noexcept {
    const __m256d two52 = _mm256_set1_pd(0x1p52);
    return sub(_mm256_castsi256_pd(_mm256_or_si256(x, _mm256_castpd_si256(two52))), two52);
  }
  static I64 to_words(F64 x) noexcept {
    const __m256d two52 = _mm256_set1_pd(0x1p52);
    return _mm256_xor_si256(_mm256_castpd_si256(add(x, two52)), _mm256_castpd_si256(two52));
  }
  // x = signed_high(x) * 2^32 + low_half(x), the low half not negative; upper_half(x) is the rest of an unsigned x.
  static F64 signed_high(I64 x) noexcept {
    const __m256i odd = _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7));
    return _mm256_cvtepi32_pd(_mm256_castsi256_si128(odd));
  }
  static F64 upper_half(I64 x) noexcept {
    const __m256d two84 = _mm256_set1_pd(0x1p84);  // whose last bit is 2^32
    const __m256i bits = _mm256_or_si256(_mm256_srli_epi64(x, 32), _mm256_castpd_si256(two84));
    return _mm256_sub_pd(_mm256_castsi256_pd(bits), two84);
  }
  static F64 low_half(I64 x) noexcept {
    const __m256d two52 = _mm256_set1_pd(0x1p52);
    const __m256i bits = _mm256_blend_epi32(x, _mm256_castpd_si256(two52), 0xaa);
    return _mm256_sub_pd(_mm256_castsi256_pd(bits), two52);
  }

  /// Whether any word that it was shown is above a bound.
  class Above {
   public:
    explicit Above(std::uint64_t bound) noexcept : bound_(set_words(bound ^ kSign)), found_(_mm256_setzero_si256()) {}
    void show(I64 x) noexcept {
      found_ = _mm256_or_si256(found_, _mm256_cmpgt_epi64(_mm256_xor_si256(x, set_words(kSign)), bound_));
    }
    bool none() const noexcept { return _mm256_testz_si256(found_, found_) != 0; }

   private:
    static constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    const I64 bound_;
    I64 found_;
  };

  // Bits of packed words: pairs of words from 16 bytes each, bytes in `order`, shifted down.
  static I64 load_pairs(const std::byte* from, const std::size_t (&places)[2]) noexcept {
    return _mm256_set_m128i(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + places[1])),
                            _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + places[0])));
  }
  static I64 reorder_bytes(I64 x, I64 order) noexcept { return _mm256_shuffle_epi8(x, order); }
  static I64 shift_right(I64 x, I64 bits) noexcept { return _mm256_srlv_epi64(x, bits); }
  static I64 bit_and(I64 x, I64 y) noexcept { return _mm256_and_si256(x, y); }

  // Complex numbers, real and imaginary parts alternating.
  static F64 reals(F64 a) noexcept { return _mm256_movedup_pd(a); }
  static F64 imaginaries(F64 a) noexcept { return _mm256_permute_pd(a, 0b1111); }
  static F64 swapped(F64 a) noexcept { return _mm256_permute_pd(a, 0b0101); }
  static F64 conjugate(F64 a) noexcept { return _mm256_xor_pd(a, _mm256_setr_pd(0.0, -0.0, 0.0, -0.0)); }
  static F64 fma_sub_add(F64 a, F64 b, F64 c) noexcept { return _mm256_fmaddsub_pd(a, b, c); }  // a b -+ c
};

}  // namespace
}  // namespace lw::cpu
