// The inner products of digits with keys, whose rows are words or bit-packed at the width of their prime, as kernels of
// their own, so that their instructions can be counted: `kDigits` digits, all unrolled. Nothing else computes with
// these.
#include <type_traits>

#include "kernels.cuh"

namespace lw::gpu {

struct KeySumArgs {
  const Word* const* digits;
  const KeyPair* keys;
  Word *b, *a;
  IntegerPrime integers;
};

/// Rows of words.
template <class A>
class PlainRows {
 public:
  LW_GPU PlainRows(std::uint32_t i, std::uint32_t) noexcept : i_(i) {}
  LW_GPU typename A::Value load(const Word* row) const noexcept { return A::from_word(row[i_]); }

 private:
  std::uint32_t i_;
};

/// Residue i is `width` bits from bit i * width on, plus half of 2^width where words are doubles, so that one
/// subtraction centres it. A row ends in a word more. Where the bits are is the same in the rows of all digits.
template <class A>
class PackedKeyRows {
 public:
  LW_GPU PackedKeyRows(std::uint32_t i, std::uint32_t width) noexcept
      : word_(i * width / 64),
        shift_(i * width % 64),
        mask_(~Word{0} >> (64 - width)),
        offset_(0x1p52 + static_cast<double>(Word{1} << (width - 1))) {}
  LW_GPU typename A::Value load(const Word* row) const noexcept {
    const Word low = row[word_], high = row[word_ + 1];
    const Word bits = ((low >> shift_) | (high << 1 << (63 - shift_))) & mask_;
    if constexpr (std::is_same_v<typename A::Value, double>) {
      return __longlong_as_double(static_cast<long long>(bits | 0x4330000000000000)) - offset_;
    } else {
      return bits;
    }
  }

 private:
  std::uint32_t word_, shift_;
  Word mask_;
  double offset_;
};

template <class A, template <class> class KeyRows, int kDigits>
LW_GPU void key_sum(const KeySumArgs& args, const typename A::Prime& prime, std::uint32_t width) noexcept {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const typename A::SumLimits limits = A::sum_limits(prime);
  const KeyRows<A> rows(i, width);
  typename A::Sum b(limits, A::zero()), a(limits, A::zero());
#pragma unroll
  for (int d = 0; d < kDigits; ++d) {
    const typename A::Value x = A::from_word(args.digits[d][i]);
    b.add(x, rows.load(args.keys[d].b));
    a.add(x, rows.load(args.keys[d].a));
  }
  args.b[i] = A::to_word(b.value(limits, prime));
  args.a[i] = A::to_word(a.value(limits, prime));
}

}  // namespace lw::gpu

using namespace lw::gpu;

#define KEY_SUM(NAME, A, ROWS, DIGITS)                                                                       \
  extern "C" __global__ void __launch_bounds__(256)                                                          \
      NAME##_##DIGITS(const __grid_constant__ KeySumArgs args, const A::Prime* prime, std::uint32_t width) { \
    key_sum<A, ROWS, DIGITS>(args, *prime, width);                                                           \
  }
#define BOTH(NAME, A)                         \
  KEY_SUM(NAME##_plain, A, PlainRows, 4)      \
  KEY_SUM(NAME##_plain, A, PlainRows, 8)      \
  KEY_SUM(NAME##_packed, A, PackedKeyRows, 4) \
  KEY_SUM(NAME##_packed, A, PackedKeyRows, 8)

BOTH(fp64, Fp64)
BOTH(u64, U64)
