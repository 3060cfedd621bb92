// Steps on primes below 2^30 as 32-bit integers, beside those on the words that there are, so that their instructions
// can be counted: each kernel does `count` of a step on values that stay in registers.
#include "backend/gpu/fp64.hpp"
#include "backend/gpu/u64_lazy.hpp"

namespace lw::gpu {

/// The arithmetic that is counted, and nowhere built: as U64, of half the width.
struct U32 {
  using Value = std::uint32_t;
  struct Prime {
    std::uint32_t value, ratio;  // floor(2^59 / q)
  };
  struct Twiddle {
    std::uint32_t value, quotient;
  };

  static LW_GPU void forward(Value& a, Value& b, const Twiddle& w, const Prime& p) {
    const Value twice = 2 * p.value, u = a - (a >= twice ? twice : 0);
    const Value v = b * w.value - __umulhi(b, w.quotient) * p.value;
    a = u + v;
    b = u - v + twice;
  }
  static LW_GPU Value mul(Value a, Value b, const Prime& p) {
    const std::uint64_t product = std::uint64_t{a} * b;
    const Value quotient = __umulhi(static_cast<Value>(product >> 28), p.ratio);
    const Value rest = static_cast<Value>(product) - quotient * p.value;
    return rest - (rest >= p.value ? p.value : 0);
  }
  class Sum {
   public:
    LW_GPU void add(Value a, Value b) { sum_ += std::uint64_t{a} * b; }
    LW_GPU std::uint64_t value() const { return sum_; }

   private:
    std::uint64_t sum_ = 0;
  };
};

template <class A, class B, int kCount>
LW_GPU void butterflies(const typename A::Value* in, const typename A::Twiddle* table, const typename A::Prime& prime,
                        typename A::Value* out) {
  typename A::Value v[8];
  typename A::Twiddle w[4];
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = in[i];
#pragma unroll
  for (int i = 0; i < 4; ++i) w[i] = table[i];
#pragma unroll
  for (int k = 0; k < kCount / 4; ++k) {
    const int half = 4 >> k % 3;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = i / half * 2 * half + i % half;
      B::forward(v[at], v[at + half], w[i / half], prime);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) out[i] = v[i];
}

template <class A, int kCount>
LW_GPU void products(const typename A::Value* in, const typename A::Prime& prime, typename A::Value* out) {
  typename A::Value v = in[0], w = in[1];
#pragma unroll
  for (int k = 0; k < kCount; ++k) v = A::mul(v, w, prime);
  out[0] = v;
}

/// The sum of a base conversion; each term is loaded, which is not counted.
template <class A, int kCount>
LW_GPU void terms(const typename A::Value* in, typename A::Sum sum, const typename A::Prime& prime,
                  typename A::Value* out) {
#pragma unroll
  for (int k = 0; k < kCount; ++k) sum.add(in[2 * k], in[2 * k + 1]);
  if constexpr (requires { A::sum_limits(prime); }) {
    out[0] = sum.value(A::sum_limits(prime), prime);
  } else {
    reinterpret_cast<std::uint64_t*>(out)[0] = sum.value();
  }
}

}  // namespace lw::gpu

using namespace lw::gpu;

#define STEPS(NAME, A, B, SUM, COUNT)                                                                         \
  extern "C" __global__ void NAME##_butterflies_##COUNT(const A::Value* in, const A::Twiddle* table,          \
                                                        const A::Prime* prime, A::Value* out) {               \
    butterflies<A, B, COUNT>(in + 8 * threadIdx.x, table, *prime, out + 8 * threadIdx.x);                     \
  }                                                                                                           \
  extern "C" __global__ void NAME##_products_##COUNT(const A::Value* in, const A::Prime* prime,               \
                                                     A::Value* out) {                                         \
    products<A, COUNT>(in + 2 * threadIdx.x, *prime, out + threadIdx.x);                                      \
  }                                                                                                           \
  extern "C" __global__ void NAME##_terms_##COUNT(const A::Value* in, const A::Prime* prime, A::Value* out) { \
    terms<A, COUNT>(in + 64 * threadIdx.x, SUM, *prime, out + 2 * threadIdx.x);                                \
  }
#define COUNTED(NAME, A, B, SUM) STEPS(NAME, A, B, SUM, 12) STEPS(NAME, A, B, SUM, 24)

COUNTED(u32_30, U32, U32, U32::Sum())
COUNTED(u64_60, U64, U64, U64::Sum({}, 0))
COUNTED(u64_50, U64, U64Lazy, U64::Sum({}, 0))
COUNTED(fp64_50, Fp64, Fp64, Fp64::Sum(prime->sums, 0))
