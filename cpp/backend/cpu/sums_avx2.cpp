// Sums of products by aligned accumulators (accumulator.hpp): one kernel, for base conversion, for products with keys
// and for those with plaintexts.
#include "backend/cpu/lane_orders.hpp"
#include "backend/cpu/rows_avx2.hpp"
#include "backend/cpu/vectors_avx2.hpp"

namespace lw::cpu::avx2 {
namespace {

using V = Avx2;
using F64 = V::F64;
using P = PrimeVectors<V>;
constexpr std::size_t kLanes = V::kLanes;

/// `width` sums side by side: sum[w] becomes a residue of itself + sum over t < terms of a[w] b[w], where
/// factors(t, a, b) gives both. Four of them hide the latency of the chain through the high words.
template <std::size_t kWidth, class Factors>
[[gnu::always_inline]] inline void add_products(F64 (&sum)[kWidth], std::size_t terms, const Accumulator& accumulator,
                                                const P& prime, const Factors& factors) noexcept {
  const F64 start = V::set(accumulator.start);
  std::size_t t = 0;
  do {
    const std::size_t end = t + accumulator.terms < terms ? t + accumulator.terms : terms;
    F64 high[kWidth];
    for (F64& h : high) h = start;
    for (; t < end; ++t) {
      F64 a[kWidth], b[kWidth];
      factors(t, a, b);
#pragma GCC unroll 8
      for (std::size_t w = 0; w < kWidth; ++w) {
        const F64 next = V::fma(a[w], b[w], high[w]);
        sum[w] = V::add(sum[w], V::fms(a[w], b[w], V::sub(next, high[w])));
        high[w] = next;
      }
    }
#pragma GCC unroll 8
    for (std::size_t w = 0; w < kWidth; ++w) {
      const F64 multiple = V::sub(high[w], start);
      const F64 quotient = V::round(V::mul(V::add(multiple, sum[w]), prime.inverse));
      sum[w] = V::add(V::fnma(quotient, prime.q, multiple), sum[w]);
    }
    if (accumulator.rough) {
#pragma GCC unroll 8
      for (std::size_t w = 0; w < kWidth; ++w) sum[w] = prime.reduce(sum[w]);
    }
  } while (t < terms);
}

/// An aligned block of four words goes as a whole: its exponents are e + reverse(k) N/2, and the image of exponent E
/// under X -> X^g lies at that of E g^-1.
class Turn {
 public:
  explicit Turn(const Turned& turned) noexcept
      : turned_(turned), mask_((1u << turned.log_blocks) - 1), orders_(kLaneOrders[turned.element % 4 == 3]) {}

  void store(Word* out, std::size_t i, F64 x) const noexcept {
    const std::uint32_t half = (2 * turned_.block_reversal[i / 4] + 1) * turned_.inverse_element / 2;
    const std::uint32_t turn = half >> turned_.log_blocks;
    const std::int32_t* order = orders_[(0 - turn * turned_.element) & 3];  // the inverse of that of g^-1 and turn
    V::store(out + std::size_t{4} * turned_.block_reversal[half & mask_], V::permute(x, order));
  }

 private:
  const Turned turned_;
  const std::uint32_t mask_;
  const std::int32_t (*orders_)[8];
};

struct Straight {
  void store(Word* out, std::size_t i, F64 x) const noexcept { V::store(out + i, x); }
};

template <class Place>
void pair_sums(Word* const out[2], const PairTerm* terms, std::size_t count, const PairStart& begin,
               const Accumulator& accumulator, std::size_t n, const Prime& p, const Place& place) noexcept {
  const P prime(p);
  const F64 scalar = V::set(begin.scalar), scalar_over_q = V::set(begin.scalar / p.q);
  for (std::size_t i = 0; i < n; i += 2 * kLanes) {
    F64 sum[4];
    for (std::size_t half = 0; half < 2; ++half) {
      const Word* from = begin.rows[half];
      for (std::size_t w = 0; w < 2; ++w) {
        sum[2 * half + w] = from == nullptr ? V::set(0) : V::load(from + i + w * kLanes);
        if (from != nullptr && begin.scalar != 1) {
          sum[2 * half + w] = prime.product(sum[2 * half + w], scalar, scalar_over_q);
        }
      }
    }
    add_products(sum, count, accumulator, prime, [&](std::size_t t, F64(&a)[4], F64(&b)[4]) {
      const PairTerm& term = terms[t];
      a[0] = a[2] = V::load(term.common + i);
      a[1] = a[3] = V::load(term.common + i + kLanes);
      for (std::size_t w = 0; w < 4; ++w) b[w] = V::load(term.own[w / 2] + i + w % 2 * kLanes);
    });
    for (std::size_t w = 0; w < 4; ++w) place.store(out[w / 2], i + w % 2 * kLanes, sum[w]);
  }
}

}  // namespace

void split(Word* const* y, Word* u, const SplitTerm* terms, std::size_t count, std::size_t n) noexcept {
  if (count == 1) {  // u is 0
    const P prime(*terms->prime);
    const F64 inverse = V::set(terms->inverse), inverse_over_q = V::set(terms->inverse / terms->prime->q);
    const bool is_product = terms->inverse != 1;
    for (std::size_t i = 0; i < n; i += kLanes) {
      const F64 x = V::load(terms->x + i);
      V::store(y[0] + i, prime.reduce(is_product ? prime.product(x, inverse, inverse_over_q) : x));
    }
    return;
  }
  constexpr std::size_t kWidth = 4;
  for (std::size_t i = 0; i < n; i += kWidth * kLanes) {
    F64 v[kWidth];
    for (F64& sum : v) sum = V::set(0);
    for (std::size_t t = 0; t < count; ++t) {
      const P prime(*terms[t].prime);
      const F64 inverse = V::set(terms[t].inverse), inverse_over_q = V::set(terms[t].inverse / terms[t].prime->q);
      const F64 reciprocal = V::set(terms[t].reciprocal);
#pragma GCC unroll 4
      for (std::size_t w = 0; w < kWidth; ++w) {
        const F64 x = V::load(terms[t].x + i + w * kLanes);
        const F64 part = prime.reduce(prime.product(x, inverse, inverse_over_q));
        V::store(y[t] + i + w * kLanes, part);
        v[w] = V::fma(part, reciprocal, v[w]);
      }
    }
    for (std::size_t w = 0; w < kWidth; ++w) V::store(u + i + w * kLanes, V::round(v[w]));
  }
}

void join(Word* out, const Word* const* y, const double* weights, std::size_t count, const Word* u, double u_weight,
          const Accumulator& accumulator, std::size_t n, const Prime& p) noexcept {
  const P prime(p);
  if (count == 1 && u == nullptr) {
    const F64 weight = V::set(weights[0]), weight_over_q = V::set(weights[0] / p.q);
    const bool is_product = weights[0] != 1;
    for (std::size_t i = 0; i < n; i += kLanes) {
      const F64 x = V::load(y[0] + i);
      V::store(out + i, is_product ? prime.product(x, weight, weight_over_q) : prime.reduce(x));
    }
    return;
  }
  constexpr std::size_t kWidth = 4;
  const F64 minus_total = V::set(u_weight);
  for (std::size_t i = 0; i < n; i += kWidth * kLanes) {
    F64 sum[kWidth];
    for (std::size_t w = 0; w < kWidth; ++w) {
      sum[w] = u == nullptr ? V::set(0) : V::mul(V::load(u + i + w * kLanes), minus_total);
    }
    add_products(sum, count, accumulator, prime, [&](std::size_t t, F64(&a)[kWidth], F64(&b)[kWidth]) {
      const F64 weight = V::set(weights[t]);
      for (std::size_t w = 0; w < kWidth; ++w) {
        a[w] = V::load(y[t] + i + w * kLanes);
        b[w] = weight;
      }
    });
    for (std::size_t w = 0; w < kWidth; ++w) V::store(out + i + w * kLanes, sum[w]);
  }
}

void dot(Word* out, const DotTerm* terms, std::size_t count, const Word* begin, const Accumulator& accumulator,
         std::size_t n, const Prime& p) noexcept {
  constexpr std::size_t kWidth = 4;
  const P prime(p);
  for (std::size_t i = 0; i < n; i += kWidth * kLanes) {
    F64 sum[kWidth];
    for (std::size_t w = 0; w < kWidth; ++w) sum[w] = begin == nullptr ? V::set(0) : V::load(begin + i + w * kLanes);
    add_products(sum, count, accumulator, prime, [&](std::size_t t, F64(&a)[kWidth], F64(&b)[kWidth]) {
      for (std::size_t w = 0; w < kWidth; ++w) {
        a[w] = V::load(terms[t].a + i + w * kLanes);
        b[w] = V::load(terms[t].b + i + w * kLanes);
      }
    });
    for (std::size_t w = 0; w < kWidth; ++w) V::store(out + i + w * kLanes, sum[w]);
  }
}

void pair_dot(Word* const out[2], const PairTerm* terms, std::size_t count, const PairStart& begin,
              const Turned* turned, const Accumulator& accumulator, std::size_t n, const Prime& p) noexcept {
  if (turned == nullptr) {
    pair_sums(out, terms, count, begin, accumulator, n, p, Straight{});
  } else {
    pair_sums(out, terms, count, begin, accumulator, n, p, Turn(*turned));
  }
}

}  // namespace lw::cpu::avx2
