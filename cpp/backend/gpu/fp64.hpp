// Residues as integers in doubles, for primes below 2^50: the arithmetic and the range at rest of cpu/prime.hpp, one
// residue at a time. tools/prove_ranges.py proves that nothing is rounded but quotients.
#pragma once

#include "backend/gpu/arithmetic.hpp"

namespace lw::gpu {

struct Fp64 {
  static constexpr Arithmetic kArithmetic = Arithmetic::kFp64;
  static constexpr char kName[] = "fp64";

  using Value = double;
  using Twiddle = double;  // centred

  /// See backend/accumulator.hpp.
  struct SumLimits {
    double start;
    std::uint32_t terms, rough;
  };

  struct Prime : IntegerPrime {
    double q, inverse;                               // float64(1/q)
    SumLimits sums;                                  // of products of residues at rest
    std::uint32_t forward_reduces, inverse_reduces;  // NttRanges
    Twiddle inverse_degree, inverse_degree_root;     // 1/N, w[1]/N
  };

  static LW_GPU Value from_word(std::uint64_t word) noexcept { return double_of_bits(word); }
  static LW_GPU std::uint64_t to_word(Value x) noexcept { return bits_of_double(x); }
  static LW_GPU Value zero() noexcept { return 0; }

  static LW_GPU Value from_canonical(std::uint64_t x, const IntegerPrime& p) noexcept {
    const std::int64_t integer = static_cast<std::int64_t>(x);
    return static_cast<double>(x > p.value / 2 ? integer - static_cast<std::int64_t>(p.value) : integer);
  }
  static LW_GPU std::uint64_t to_canonical(Value x, const IntegerPrime& p) noexcept {
    const std::int64_t integer = static_cast<std::int64_t>(x);
    return static_cast<std::uint64_t>(integer) + (integer < 0 ? p.value : 0);
  }

  /// A small residue of an integer |x| < 2^53, the centred one of a residue at rest.
  static LW_GPU Value reduce(Value x, const Prime& p) noexcept {
    return fused_multiply_add(-nearest_product(x, p.inverse), p.q, x);
  }

  static LW_GPU Value add(Value a, Value b, const Prime& p) noexcept { return reduce(a + b, p); }
  static LW_GPU Value sub(Value a, Value b, const Prime& p) noexcept { return reduce(a - b, p); }
  static LW_GPU Value neg(Value a, const Prime&) noexcept { return -a; }
  /// a b - c q, where c is next to fl(a b) fl(1/q).
  static LW_GPU Value mul(Value a, Value b, const Prime& p) noexcept {
    const double high = a * b;
    const double quotient = nearest_product(high, p.inverse);
    return fused_multiply_add(a, b, -high) + fused_multiply_add(-quotient, p.q, high);
  }
  static LW_GPU Value mul_add(Value a, Value b, Value c, const Prime& p) noexcept { return add(mul(a, b, p), c, p); }

  /// (a, b) -> (a + w b, a - w b). All first operands of a stage whose butterflies span 2^log_span words are
  /// reduced before that if reduces_first says so.
  static LW_GPU void forward(Value& a, Value& b, Twiddle w, const Prime& p) noexcept {
    const double u = a, v = mul(b, w, p);
    a = u + v;
    b = u - v;
  }
  static LW_GPU bool reduces_first(unsigned log_span, const Prime& p) noexcept {
    return (p.forward_reduces >> log_span & 1) != 0;
  }
  static LW_GPU Value forward_end(Value x, const Prime& p) noexcept { return reduce(x, p); }
  /// (a, b) -> (a + b, w (b - a)): w is the negated inverse twiddle. All sums are reduced after that if reduces_sums
  /// says so.
  static LW_GPU void inverse(Value& a, Value& b, Twiddle w, const Prime& p) noexcept {
    const double sum = a + b, difference = b - a;
    a = sum;
    b = mul(difference, w, p);
  }
  static LW_GPU bool reduces_sums(unsigned log_span, const Prime& p) noexcept {
    return (p.inverse_reduces >> log_span & 1) != 0;
  }
  /// A sum of all stages of a kernel, for the next one.
  static LW_GPU Value inverse_pause(Value x, const Prime&) noexcept { return x; }
  static LW_GPU void inverse_end(Value& a, Value& b, const Prime& p) noexcept {
    const double sum = a + b, difference = b - a;
    a = mul(sum, p.inverse_degree, p);
    b = reduce(mul(difference, p.inverse_degree_root, p), p);
  }

  /// The sum of `begin` and at most most_terms products, by an aligned accumulator.
  class Sum {
   public:
    Sum() = default;  // of arrays, to be assigned
    LW_GPU Sum(const SumLimits& limits, Value begin) noexcept : high_(limits.start), low_(begin) {}

    LW_GPU void add(Value a, Value b) noexcept {
      const double next = fused_multiply_add(a, b, high_);
      low_ += fused_multiply_add(a, b, high_ - next);
      high_ = next;
    }
    LW_GPU Value value(const SumLimits& limits, const Prime& p) const noexcept {
      const double multiple = high_ - limits.start;
      const double quotient = nearest((multiple + low_) * p.inverse);
      const double residue = fused_multiply_add(-quotient, p.q, multiple) + low_;
      return limits.rough != 0 ? reduce(residue, p) : residue;
    }

   private:
    double high_, low_;
  };
  static LW_GPU SumLimits sum_limits(const Prime& p) noexcept { return p.sums; }
  static LW_GPU std::uint32_t most_terms(const SumLimits& limits) noexcept { return limits.terms; }

  class ConversionParts {
   public:
    /// The next part, of the residue x.
    LW_GPU Value part(Value x, Twiddle inverse, double reciprocal, const Prime& p) noexcept {
      const double y = reduce(mul(x, inverse, p), p);
      sum_ = fused_multiply_add(y, reciprocal, sum_);
      return y;
    }
    /// The multiple of the product of all source primes by which the sum of the parts is too large.
    LW_GPU Value multiples() const noexcept { return nearest_small(sum_); }

   private:
    double sum_ = 0;
  };
};

}  // namespace lw::gpu
