#include "backend/cpu/rows_avx2.hpp"
#include "backend/cpu/vectors_avx2.hpp"

namespace lw::cpu::avx2 {
namespace {

using V = Avx2;
using F64 = V::F64;
using I64 = V::I64;
using P = PrimeVectors<V>;

/// Balanced doubles of canonical words, and whether any word was not.
class FromCanonical {
 public:
  explicit FromCanonical(const Prime& p) noexcept
      : q_(V::set(p.q)),
        half_(V::set((p.q - 1) / 2)),
        largest_(_mm256_set1_epi64x(static_cast<std::int64_t>(p.q) - 1)),
        wrong_(_mm256_setzero_si256()) {}

  F64 operator()(I64 x) noexcept {
    wrong_ = _mm256_or_si256(wrong_, _mm256_or_si256(x, _mm256_cmpgt_epi64(x, largest_)));
    const F64 two52 = V::set(0x1p52);
    const F64 value = V::sub(_mm256_castsi256_pd(_mm256_or_si256(x, _mm256_castpd_si256(two52))), two52);
    return V::sub(value, _mm256_and_pd(_mm256_cmp_pd(value, half_, _CMP_GT_OQ), q_));
  }
  bool all_right() const noexcept { return _mm256_movemask_pd(_mm256_castsi256_pd(wrong_)) == 0; }

 private:
  const F64 q_, half_;
  const I64 largest_;
  I64 wrong_;  // its sign bits tell
};

inline __m128i load_pair(const std::byte* from) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

/// Four packed coefficients that begin at bit `bit` of a run of bytes: two from each of two loads.
class FourPacked {
 public:
  FourPacked(unsigned bit, unsigned width) noexcept : first_(bit / 8), second_((bit + 2 * width) / 8) {
    alignas(32) std::uint8_t order[32];
    alignas(32) std::uint64_t shifts[4];
    for (unsigned k = 0; k < 4; ++k) {
      const unsigned at = bit + k * width - 8 * (k < 2 ? first_ : second_);
      for (unsigned byte = 0; byte < 8; ++byte) order[8 * k + byte] = static_cast<std::uint8_t>(at / 8 + byte);
      shifts[k] = at % 8;
    }
    order_ = _mm256_load_si256(reinterpret_cast<const __m256i*>(order));
    shifts_ = _mm256_load_si256(reinterpret_cast<const __m256i*>(shifts));
  }

  I64 load(const std::byte* from, I64 mask) const noexcept {
    const I64 bytes = _mm256_set_m128i(load_pair(from + second_), load_pair(from + first_));
    return _mm256_and_si256(_mm256_srlv_epi64(_mm256_shuffle_epi8(bytes, order_), shifts_), mask);
  }

 private:
  unsigned first_, second_;
  I64 order_, shifts_;
};

}  // namespace

bool from_canonical(Word* out, const Word* words, std::size_t n, const Prime& p) noexcept {
  FromCanonical convert(p);
  for (std::size_t i = 0; i < n; i += V::kLanes) {
    V::store(out + i, convert(V::load(reinterpret_cast<const std::int64_t*>(words + i))));
  }
  return convert.all_right();
}

void to_canonical(Word* words, const Word* in, std::size_t n, const Prime& p) noexcept {
  const F64 q = V::set(p.q), two52 = V::set(0x1p52);
  for (std::size_t i = 0; i < n; i += V::kLanes) {
    const F64 x = V::load(in + i);
    const F64 wrapped = V::add(x, _mm256_and_pd(_mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_LT_OQ), q));
    const I64 bits = _mm256_xor_si256(_mm256_castpd_si256(V::add(wrapped, two52)), _mm256_castpd_si256(two52));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(words + i), bits);
  }
}

bool unpack(Word* out, const std::byte* from, unsigned width, std::size_t n, const Prime& p) noexcept {
  FromCanonical convert(p);
  const I64 mask = _mm256_set1_epi64x(static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - width)));
  const FourPacked low(0, width), high(4 * width, width);
  for (std::size_t i = 0; i < n; i += 8, from += width) {
    V::store(out + i, convert(low.load(from, mask)));
    V::store(out + i + V::kLanes, convert(high.load(from, mask)));
  }
  return convert.all_right();
}

bool reduce_words(Word* out, const Word* words, std::uint64_t largest, std::size_t n, const Prime& p) noexcept {
  const P prime(p);
  const F64 two32 = prime.reduce(V::set(0x1p32)), two32_over_q = V::mul(two32, prime.inverse);
  const I64 sign = _mm256_set1_epi64x(static_cast<std::int64_t>(std::uint64_t{1} << 63));
  const I64 bound = _mm256_xor_si256(_mm256_set1_epi64x(static_cast<std::int64_t>(largest)), sign);
  I64 beyond = _mm256_setzero_si256();
  for (std::size_t i = 0; i < n; i += V::kLanes) {
    const I64 x = V::load(reinterpret_cast<const std::int64_t*>(words + i));
    beyond = _mm256_or_si256(beyond, _mm256_cmpgt_epi64(_mm256_xor_si256(x, sign), bound));
    const F64 high = prime.product(V::low_half(_mm256_srli_epi64(x, 32)), two32, two32_over_q);
    V::store(out + i, prime.reduce(V::add(high, V::low_half(x))));
  }
  return _mm256_movemask_pd(_mm256_castsi256_pd(beyond)) == 0;
}

}  // namespace lw::cpu::avx2
