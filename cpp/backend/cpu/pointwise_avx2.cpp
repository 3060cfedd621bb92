#include "backend/cpu/rows_avx2.hpp"
#include "backend/cpu/vectors_avx2.hpp"

namespace lw::cpu::avx2 {
namespace {

using V = Avx2;
using F64 = V::F64;
using P = PrimeVectors<V>;

// Eight words at a time: n is a multiple of 16.
template <class Op>
inline void map(Word* out, std::size_t n, const Op& op) noexcept {
  for (std::size_t i = 0; i < n; i += 2 * V::kLanes) {
    const F64 first = op(i), second = op(i + V::kLanes);
    V::store(out + i, first);
    V::store(out + i + V::kLanes, second);
  }
}

}  // namespace

void add(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept {
  const P prime(p);
  map(out, n, [&](std::size_t i) { return prime.reduce(V::add(V::load(a + i), V::load(b + i))); });
}

void sub(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept {
  const P prime(p);
  map(out, n, [&](std::size_t i) { return prime.reduce(V::sub(V::load(a + i), V::load(b + i))); });
}

void neg(Word* out, const Word* a, std::size_t n) noexcept {
  map(out, n, [&](std::size_t i) { return V::neg(V::load(a + i)); });
}

void mul(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept {
  const P prime(p);
  map(out, n, [&](std::size_t i) { return prime.product(V::load(a + i), V::load(b + i)); });
}

void mul_add(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept {
  const P prime(p);
  map(out, n, [&](std::size_t i) {
    return prime.reduce(V::add(prime.product(V::load(a + i), V::load(b + i)), V::load(out + i)));
  });
}

void mul_scalar(Word* out, const Word* a, double scalar, std::size_t n, const Prime& p) noexcept {
  const P prime(p);
  const F64 w = V::set(scalar), w_over_q = V::set(scalar / p.q);
  map(out, n, [&](std::size_t i) { return prime.product(V::load(a + i), w, w_over_q); });
}

void add_scalar(Word* out, const Word* a, double scalar, std::size_t n, const Prime& p) noexcept {
  const P prime(p);
  const F64 addend = V::set(scalar);
  map(out, n, [&](std::size_t i) { return prime.reduce(V::add(V::load(a + i), addend)); });
}

void sub_scale(Word* out, const Word* a, const Word* b, double scalar, std::size_t n, const Prime& p) noexcept {
  const P prime(p);
  const F64 w = V::set(scalar), w_over_q = V::set(scalar / p.q);
  map(out, n, [&](std::size_t i) { return prime.product(V::sub(V::load(a + i), V::load(b + i)), w, w_over_q); });
}

void import_signed(Word* out, const std::int64_t* coefficients, std::size_t n, const Prime& p) noexcept {
  const P prime(p);
  const F64 two32 = prime.reduce(V::set(0x1p32));
  map(out, n, [&](std::size_t i) {
    const V::I64 x = V::load(coefficients + i);
    return prime.reduce(V::add(prime.product(V::high_half(x), two32), V::low_half(x)));
  });
}

}  // namespace lw::cpu::avx2
