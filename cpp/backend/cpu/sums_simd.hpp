// Sums of products by aligned accumulators (accumulator.hpp): one kernel, for base conversion, for products with keys
// and for those with plaintexts.
#pragma once

#include <cstddef>
#include <type_traits>

#include "backend/accumulator.hpp"
#include "backend/cpu/limb_sums.hpp"
#include "backend/cpu/prime_simd.hpp"
#include "backend/cpu/simd_orders.hpp"

namespace lw::cpu {
namespace {

// Words: how far ahead limbs are asked for. Many streams at once, and page ends, are too much for the prefetcher of the
// processor.
constexpr std::size_t kAhead = 128;

// Whether a vector is a line of the caches: then it can be written without reading the line before.
template <class V>
constexpr bool kIsLine = V::kWords == 8;

// Terms and words of pairs of sums from which their rows are loaded in runs, and the words of a run of one row. So many
// rows are more streams than a processor reads ahead by itself. With narrower vectors the runs took more than they
// gave.
constexpr std::size_t kTermsOfRuns = 5, kWordsOfRuns = 1 << 14, kRun = 512;

/// Brings words near, one line after the other, by loads: Zen 5 reads ahead of loads, not of what asks for lines.
inline void load_run(const Word* p) noexcept {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kRun; i += 8) asm volatile("" : : "r"(p[i]));
}

/// body(width, i) for the words from i on that as many vectors hold: V::kSums at a time, at the end four.
template <class V, class Body>
inline void in_widths(std::size_t n, const Body& body) noexcept {
  constexpr std::size_t kWide = V::kSums * V::kWords;
  std::size_t i = 0;
  for (; i + kWide <= n; i += kWide) body(std::integral_constant<std::size_t, V::kSums>(), i);
  if constexpr (V::kSums > 4) {  // limbs are whole in fours of vectors
    if (i < n) body(std::integral_constant<std::size_t, 4>(), i);
  }
}

/// The vectors of words that are used at a time, from p on; asks for those that come later, unless all are near.
template <class V, std::size_t kWidth, bool kNear = false>
[[gnu::always_inline]] inline void load_ahead(typename V::F64* to, const Word* p) noexcept {
  asm("" : "+r"(p));  // else every address becomes a variable of the loop around this, and there are too many
  if constexpr (!kNear) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kWidth * V::kWords; i += 8) V::prefetch(p + kAhead + i);
  }
#pragma GCC unroll 8
  for (std::size_t w = 0; w < kWidth; ++w) to[w] = V::load(p + w * V::kWords);
}

/// `width` sums side by side: sum[w] becomes a residue of itself + sum over t < terms of a[w] b[w], where
/// factors(t, a, b) gives both. Several of them hide the latency of the chain through the high words.
template <class V, std::size_t kWidth, class Factors>
[[gnu::always_inline]] inline void add_products(typename V::F64 (&sum)[kWidth], std::size_t terms,
                                                const Accumulator& accumulator, const PrimeVectors<V>& prime,
                                                const Factors& factors) noexcept {
  using F64 = typename V::F64;
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
        sum[w] = V::add_rest(a[w], b[w], V::sub(next, high[w]), sum[w]);
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

/// Stores the image of exponent E under X -> X^g: at that of E g^-1, a block of words at a time.
template <class V>
class StoreAutomorphism {
 public:
  StoreAutomorphism(const OutputAutomorphism& automorphism, std::size_t degree) noexcept
      : blocks_(automorphism.block_reversal, degree),
        automorphism_(automorphism),
        orders_(kWordOrders<V>.of(automorphism.element)) {}

  void store(Word* out, std::size_t i, typename V::F64 x) const noexcept {
    const std::uint32_t half = blocks_.half(static_cast<std::uint32_t>(i / V::kWords), automorphism_.inverse_element);
    // The inverse of the order of g^-1 and the offset.
    const auto& order = orders_[(0 - blocks_.offset(half) * automorphism_.element) % V::kWords];
    Word* const to = out + blocks_.place(half);
    if (kIsLine<V> && automorphism_.past_caches) {
      V::stream(to, V::reorder(x, order));
    } else {
      V::store(to, V::reorder(x, order));
    }
  }

 private:
  const Blocks<V> blocks_;
  const OutputAutomorphism automorphism_;
  const typename V::Order (&orders_)[V::kWords];
};

template <class V>
struct Straight {
  void store(Word* out, std::size_t i, typename V::F64 x) const noexcept { V::store(out + i, x); }
};

/// Words [i, end) of both sums.
template <class V, bool kNear, class Place>
[[gnu::always_inline]] inline void pair_sums_of(Word* const out[2], const PairTerm* terms, std::size_t count,
                                                const PairStart& begin, const Accumulator& accumulator, std::size_t i,
                                                std::size_t end, const Prime& p, const Place& place) noexcept {
  using F64 = typename V::F64;
  constexpr std::size_t kWords = V::kWords, kEach = V::kSums / 2;
  const PrimeVectors<V> prime(p);
  const F64 scalar = V::set(begin.scalar), scalar_over_q = V::set(begin.scalar / p.q);
  for (; i < end; i += kEach * kWords) {
    F64 sum[2 * kEach];
#pragma GCC unroll 8
    for (std::size_t w = 0; w < 2 * kEach; ++w) {
      const Word* from = begin.limbs[w / kEach];
      sum[w] = from == nullptr ? V::set(0) : V::load(from + i + w % kEach * kWords);
      if (from != nullptr && begin.scalar != 1) sum[w] = prime.product(sum[w], scalar, scalar_over_q);
    }
    add_products<V>(sum, count, accumulator, prime, [&](std::size_t t, F64(&a)[2 * kEach], F64(&b)[2 * kEach]) {
      const PairTerm& term = terms[t];
      load_ahead<V, kEach, kNear>(a, term.common + i);
      load_ahead<V, kEach, kNear>(b, term.own[0] + i);
      load_ahead<V, kEach, kNear>(b + kEach, term.own[1] + i);
#pragma GCC unroll 8
      for (std::size_t w = 0; w < kEach; ++w) a[kEach + w] = a[w];
    });
#pragma GCC unroll 8
    for (std::size_t w = 0; w < 2 * kEach; ++w) place.store(out[w / kEach], i + w % kEach * kWords, sum[w]);
  }
}

template <class V, class Place>
void pair_sums(Word* const out[2], const PairTerm* terms, std::size_t count, const PairStart& begin,
               const Accumulator& accumulator, std::size_t n, const Prime& p, const Place& place) noexcept {
  if (!kIsLine<V> || count < kTermsOfRuns || n < kWordsOfRuns) {
    return pair_sums_of<V, false>(out, terms, count, begin, accumulator, 0, n, p, place);
  }
  for (std::size_t i = 0; i < n; i += kRun) {
    for (const Word* from : begin.limbs) {
      if (from != nullptr) load_run(from + i);
    }
    for (std::size_t t = 0; t < count; ++t) {
      load_run(terms[t].own[0] + i);
      load_run(terms[t].own[1] + i);
      load_run(terms[t].common + i);
    }
    pair_sums_of<V, true>(out, terms, count, begin, accumulator, i, i + kRun, p, place);
  }
}

template <class V>
void split(Word* const* y, Word* u, const SplitTerm* terms, std::size_t count, std::size_t n) noexcept {
  using F64 = typename V::F64;
  constexpr std::size_t kWords = V::kWords, kWidth = 4;
  if (count == 1) {  // u is 0
    const PrimeVectors<V> prime(*terms->prime);
    const F64 inverse = V::set(terms->inverse), inverse_over_q = V::set(terms->inverse / terms->prime->q);
    const bool is_product = terms->inverse != 1;
    for (std::size_t i = 0; i < n; i += kWords) {
      const F64 x = V::load(terms->x + i);
      V::store(y[0] + i, prime.reduce(is_product ? prime.product(x, inverse, inverse_over_q) : x));
    }
    return;
  }
  for (std::size_t i = 0; i < n; i += kWidth * kWords) {
    F64 v[kWidth];
    for (F64& sum : v) sum = V::set(0);
    for (std::size_t t = 0; t < count; ++t) {
      const PrimeVectors<V> prime(*terms[t].prime);
      const F64 inverse = V::set(terms[t].inverse), inverse_over_q = V::set(terms[t].inverse / terms[t].prime->q);
      const F64 reciprocal = V::set(terms[t].reciprocal);
#pragma GCC unroll 4
      for (std::size_t w = 0; w < kWidth; ++w) {
        const F64 x = V::load(terms[t].x + i + w * kWords);
        const F64 part = prime.reduce(prime.product(x, inverse, inverse_over_q));
        V::store(y[t] + i + w * kWords, part);
        v[w] = V::fma(part, reciprocal, v[w]);
      }
    }
    for (std::size_t w = 0; w < kWidth; ++w) V::store(u + i + w * kWords, V::round(v[w]));
  }
}

template <class V>
void join(Word* out, const Word* const* y, const double* weights, std::size_t count, const Word* u, double u_weight,
          const Accumulator& accumulator, std::size_t n, const Prime& p) noexcept {
  using F64 = typename V::F64;
  constexpr std::size_t kWords = V::kWords;
  const PrimeVectors<V> prime(p);
  if (count == 1 && u == nullptr) {
    const F64 weight = V::set(weights[0]), weight_over_q = V::set(weights[0] / p.q);
    const bool is_product = weights[0] != 1;
    for (std::size_t i = 0; i < n; i += kWords) {
      const F64 x = V::load(y[0] + i);
      V::store(out + i, is_product ? prime.product(x, weight, weight_over_q) : prime.reduce(x));
    }
    return;
  }
  const F64 minus_total = V::set(u_weight);
  in_widths<V>(n, [&]<std::size_t kWidth>(std::integral_constant<std::size_t, kWidth>, std::size_t i) {
    F64 sum[kWidth];
#pragma GCC unroll 8
    for (std::size_t w = 0; w < kWidth; ++w) {
      sum[w] = u == nullptr ? V::set(0) : V::mul(V::load(u + i + w * kWords), minus_total);
    }
    add_products<V>(sum, count, accumulator, prime, [&](std::size_t t, F64(&a)[kWidth], F64(&b)[kWidth]) {
      const F64 weight = V::set(weights[t]);
      load_ahead<V, kWidth>(a, y[t] + i);
#pragma GCC unroll 8
      for (F64& factor : b) factor = weight;
    });
#pragma GCC unroll 8
    for (std::size_t w = 0; w < kWidth; ++w) V::store(out + i + w * kWords, sum[w]);
  });
}

template <class V>
void dot(Word* out, const DotTerm* terms, std::size_t count, const Word* begin, const Accumulator& accumulator,
         std::size_t n, const Prime& p) noexcept {
  using F64 = typename V::F64;
  constexpr std::size_t kWords = V::kWords;
  const PrimeVectors<V> prime(p);
  in_widths<V>(n, [&]<std::size_t kWidth>(std::integral_constant<std::size_t, kWidth>, std::size_t i) {
    F64 sum[kWidth];
#pragma GCC unroll 8
    for (std::size_t w = 0; w < kWidth; ++w) sum[w] = begin == nullptr ? V::set(0) : V::load(begin + i + w * kWords);
    add_products<V>(sum, count, accumulator, prime, [&](std::size_t t, F64(&a)[kWidth], F64(&b)[kWidth]) {
      load_ahead<V, kWidth>(a, terms[t].a + i);
      load_ahead<V, kWidth>(b, terms[t].b + i);
    });
#pragma GCC unroll 8
    for (std::size_t w = 0; w < kWidth; ++w) V::store(out + i + w * kWords, sum[w]);
  });
}

template <class V>
void pair_dot(Word* const out[2], const PairTerm* terms, std::size_t count, const PairStart& begin,
              const OutputAutomorphism* automorphism, const Accumulator& accumulator, std::size_t n,
              const Prime& p) noexcept {
  if (automorphism == nullptr) {
    pair_sums<V>(out, terms, count, begin, accumulator, n, p, Straight<V>{});
  } else {
    pair_sums<V>(out, terms, count, begin, accumulator, n, p, StoreAutomorphism<V>(*automorphism, n));
    if (automorphism->past_caches) V::finish_streams();
  }
}

}  // namespace
}  // namespace lw::cpu
