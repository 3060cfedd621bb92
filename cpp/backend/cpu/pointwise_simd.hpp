// Limb by limb: sums, differences and products, named as in backend/kernels.def. Two vectors at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/prime_simd.hpp"

namespace lw::cpu {
namespace {

template <class V, class Op>
inline void map(Word* out, std::size_t n, const Op& op) noexcept {
  for (std::size_t i = 0; i < n; i += 2 * V::kWords) {
    const typename V::F64 first = op(i), second = op(i + V::kWords);
    V::store(out + i, first);
    V::store(out + i + V::kWords, second);
  }
}

template <class V>
void add(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept {
  const PrimeVectors<V> prime(p);
  map<V>(out, n, [&](std::size_t i) { return prime.reduce(V::add(V::load(a + i), V::load(b + i))); });
}

template <class V>
void sub(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept {
  const PrimeVectors<V> prime(p);
  map<V>(out, n, [&](std::size_t i) { return prime.reduce(V::sub(V::load(a + i), V::load(b + i))); });
}

template <class V>
void neg(Word* out, const Word* a, std::size_t n, const Prime&) noexcept {
  map<V>(out, n, [&](std::size_t i) { return V::neg(V::load(a + i)); });
}

template <class V>
void mul(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept {
  const PrimeVectors<V> prime(p);
  map<V>(out, n, [&](std::size_t i) { return prime.product(V::load(a + i), V::load(b + i)); });
}

template <class V>
void mul_add(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept {
  const PrimeVectors<V> prime(p);
  map<V>(out, n, [&](std::size_t i) {
    return prime.reduce(V::add(prime.product(V::load(a + i), V::load(b + i)), V::load(out + i)));
  });
}

template <class V>
void mul_scalar(Word* out, const Word* a, double scalar, std::size_t n, const Prime& p) noexcept {
  const PrimeVectors<V> prime(p);
  const typename V::F64 w = V::set(scalar), w_over_q = V::set(scalar / p.q);
  map<V>(out, n, [&](std::size_t i) { return prime.product(V::load(a + i), w, w_over_q); });
}

template <class V>
void add_scalar(Word* out, const Word* a, double scalar, std::size_t n, const Prime& p) noexcept {
  const PrimeVectors<V> prime(p);
  const typename V::F64 addend = V::set(scalar);
  map<V>(out, n, [&](std::size_t i) { return prime.reduce(V::add(V::load(a + i), addend)); });
}

template <class V>
void sub_scale(Word* out, const Word* a, const Word* b, double scalar, std::size_t n, const Prime& p) noexcept {
  const PrimeVectors<V> prime(p);
  const typename V::F64 w = V::set(scalar), w_over_q = V::set(scalar / p.q);
  map<V>(out, n, [&](std::size_t i) { return prime.product(V::sub(V::load(a + i), V::load(b + i)), w, w_over_q); });
}

template <class V>
void import_signed(Word* out, const std::int64_t* coefficients, std::size_t n, const Prime& p) noexcept {
  const PrimeVectors<V> prime(p);
  const typename V::F64 two32 = prime.reduce(V::set(0x1p32));
  map<V>(out, n, [&](std::size_t i) {
    const typename V::I64 x = V::load(coefficients + i);
    return prime.reduce(V::add(prime.product(V::signed_high(x), two32), V::low_half(x)));
  });
}

}  // namespace
}  // namespace lw::cpu
