// Residues as canonical integers, for primes below 2^60.
#pragma once

#include "backend/gpu/arithmetic.hpp"

namespace lw::gpu {

struct U64 {
  static constexpr Arithmetic kArithmetic = Arithmetic::kU64;
  static constexpr char kName[] = "u64";

  using Value = std::uint64_t;
  /// A factor with floor(factor * 2^64 / q), as in math/shoup.hpp.
  struct alignas(16) Twiddle {
    std::uint64_t value, quotient;
  };
  struct SumLimits {};

  struct Prime : IntegerPrime {
    Twiddle inverse_degree, inverse_degree_root;  // 1/N, w[1]/N
  };

  static LW_GPU Value from_word(std::uint64_t word) noexcept { return word; }
  static LW_GPU std::uint64_t to_word(Value x) noexcept { return x; }
  static LW_GPU Value zero() noexcept { return 0; }
  static LW_GPU Value from_canonical(std::uint64_t x, const IntegerPrime&) noexcept { return x; }
  static LW_GPU std::uint64_t to_canonical(Value x, const IntegerPrime&) noexcept { return x; }

  /// high 2^64 + low to its canonical residue, as in math/modulus.hpp: the quotient is one too small at most.
  static LW_GPU Value reduce(std::uint64_t high, std::uint64_t low, const IntegerPrime& p) noexcept {
    std::uint64_t mid = low * p.ratio_high, carry = mul_high(low, p.ratio_high);
    const std::uint64_t lowest = mul_high(low, p.ratio_low);
    mid += lowest;
    carry += mid < lowest;
    mid += high * p.ratio_low;
    carry += mul_high(high, p.ratio_low) + (mid < high * p.ratio_low);
    const std::uint64_t quotient = high * p.ratio_high + carry;
    return p.below(low - quotient * p.value);
  }

  static LW_GPU Value reduce(Value x, const IntegerPrime& p) noexcept { return p.reduce(x); }

  static LW_GPU Value add(Value a, Value b, const Prime& p) noexcept { return p.below(a + b); }
  static LW_GPU Value sub(Value a, Value b, const Prime& p) noexcept { return a - b + (a < b ? p.value : 0); }
  static LW_GPU Value neg(Value a, const Prime& p) noexcept { return p.negated(a); }
  static LW_GPU Value mul(Value a, Value b, const Prime& p) noexcept { return reduce(mul_high(a, b), a * b, p); }
  static LW_GPU Value mul_add(Value a, Value b, Value c, const Prime& p) noexcept {
    const std::uint64_t low = a * b + c;
    return reduce(mul_high(a, b) + (low < c), low, p);
  }
  /// x w modulo q in [0, 2q), for any x.
  static LW_GPU Value mul_lazy(Value x, const Twiddle& w, const IntegerPrime& p) noexcept {
    return x * w.value - mul_high(x, w.quotient) * p.value;
  }

  /// (a, b) -> (a + w b, a - w b), all in [0, 4q).
  static LW_GPU void forward(Value& a, Value& b, const Twiddle& w, const Prime& p) noexcept {
    const std::uint64_t twice = 2 * p.value;
    const std::uint64_t u = a - (a >= twice ? twice : 0);
    const std::uint64_t v = mul_lazy(b, w, p);
    a = u + v;
    b = u - v + twice;
  }
  static LW_GPU bool reduces_first(unsigned, const Prime&) noexcept { return false; }
  static LW_GPU Value forward_end(Value x, const Prime& p) noexcept {
    const std::uint64_t twice = 2 * p.value;
    return p.below(x - (x >= twice ? twice : 0));
  }
  /// (a, b) -> (a + b, w (b - a)), all in [0, 2q): w is the negated inverse twiddle.
  static LW_GPU void inverse(Value& a, Value& b, const Twiddle& w, const Prime& p) noexcept {
    const std::uint64_t twice = 2 * p.value;
    const std::uint64_t sum = a + b, difference = b - a + twice;
    a = sum - (sum >= twice ? twice : 0);
    b = mul_lazy(difference, w, p);
  }
  static LW_GPU bool reduces_sums(unsigned, const Prime&) noexcept { return false; }
  /// A sum of all stages of a kernel, for the next one.
  static LW_GPU Value inverse_pause(Value x, const Prime&) noexcept { return x; }
  static LW_GPU void inverse_end(Value& a, Value& b, const Prime& p) noexcept {
    const std::uint64_t sum = a + b, difference = b - a + 2 * p.value;
    a = p.below(mul_lazy(sum, p.inverse_degree, p));
    b = p.below(mul_lazy(difference, p.inverse_degree_root, p));
  }

  /// The sum of `begin` and at most most_terms products, in 128 bits.
  class Sum {
   public:
    Sum() = default;  // of arrays, to be assigned
    LW_GPU Sum(const SumLimits&, Value begin) noexcept : high_(0), low_(begin) {}

    LW_GPU void add(Value a, Value b) noexcept {
      const std::uint64_t low = a * b;
      low_ += low;
      high_ += mul_high(a, b) + (low_ < low);
    }
    LW_GPU Value value(const SumLimits&, const Prime& p) const noexcept { return reduce(high_, low_, p); }

   private:
    std::uint64_t high_, low_;
  };
  static LW_GPU SumLimits sum_limits(const Prime&) noexcept { return {}; }
  static LW_GPU std::uint32_t most_terms(const SumLimits&) noexcept { return 255; }  // below 2^120, and a residue

  /// Parts are canonical: each that is above (q - 1)/2 adds one to the multiples.
  class ConversionParts {
   public:
    LW_GPU Value part(Value x, const Twiddle& inverse, double reciprocal, const Prime& p) noexcept {
      const std::uint64_t y = p.below(mul_lazy(x, inverse, p));
      const bool is_above = y > p.value / 2;
      const std::int64_t centred = static_cast<std::int64_t>(y - (is_above ? p.value : 0));
      num_above_ += is_above;
      sum_ = fused_multiply_add(static_cast<double>(centred), reciprocal, sum_);
      return y;
    }
    /// The multiple of the product of all source primes by which the sum of the parts is too large; not negative.
    LW_GPU Value multiples() const noexcept {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(nearest_small(sum_)) + num_above_);
    }

   private:
    double sum_ = 0;
    std::int32_t num_above_ = 0;
  };
};

}  // namespace lw::gpu
