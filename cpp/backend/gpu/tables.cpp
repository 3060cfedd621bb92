#include "backend/gpu/tables.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backend/accumulator.hpp"
#include "backend/gpu/fp64.hpp"
#include "backend/gpu/ntt_ranges.hpp"
#include "backend/gpu/u64.hpp"
#include "math/bits.hpp"
#include "math/primes.hpp"
#include "math/shoup.hpp"

namespace lw::gpu {
namespace {

constexpr std::size_t kMaxTerms = 240;  // digits and limbs of a ring

template <class A>
constexpr std::size_t kWords = sizeof(A) / sizeof(Word);

Fp64::SumLimits limits_of(const Accumulator& accumulator) noexcept {
  return {accumulator.start, static_cast<std::uint32_t>(accumulator.terms), accumulator.rough};
}

template <class A>
typename A::Twiddle twiddle_of(std::uint64_t residue, const Modulus& m) noexcept {
  if constexpr (std::is_same_v<A, Fp64>) {
    return static_cast<double>(m.centred(residue));
  } else {
    const ShoupFactor factor(residue, m.value());
    return {factor.value, factor.quotient};
  }
}

template <class A>
typename A::Value value_of(std::uint64_t residue, const Modulus& m) noexcept {
  if constexpr (std::is_same_v<A, Fp64>) {
    return static_cast<double>(m.centred(residue));
  } else {
    return residue;
  }
}

/// psi: a primitive 2N-th root.
template <class A>
typename A::Prime prime_of(const Modulus& m, std::uint64_t psi, std::uint32_t degree) noexcept {
  const std::uint64_t q = m.value();
  const U128 ratio = ~static_cast<U128>(0) / q;
  typename A::Prime prime = {};
  prime.value = q;
  prime.ratio_high = static_cast<std::uint64_t>(ratio >> 64);
  prime.ratio_low = static_cast<std::uint64_t>(ratio);
  prime.largest_word = prime.ratio_high * q - 1;
  const std::uint64_t inverse = m.inverse(degree % q);
  prime.inverse_degree = twiddle_of<A>(inverse, m);
  prime.inverse_degree_root = twiddle_of<A>(m.mul(m.pow(psi, degree / 2), inverse), m);
  if constexpr (std::is_same_v<A, Fp64>) {
    prime.q = static_cast<double>(q);
    prime.inverse = 1.0 / prime.q;
    prime.sums = limits_of(product_accumulator(kMaxTerms, prime.q));
    const NttRanges* ranges = kNttRanges;
    while (q >> ranges->bits != 0) ++ranges;
    prime.forward_reduces = ranges->forward;
    prime.inverse_reduces = ranges->inverse;
  }
  return prime;
}

template <class A>
ConversionTarget<A> target_of(std::span<const Modulus> moduli, const BaseConversionTable& table,
                              std::size_t t) noexcept {
  const Modulus& m = moduli[table.to[t]];
  ConversionTarget<A> target = {};
  target.limb = table.to[t];
  target.minus_total = value_of<A>(m.neg(table.total[t]), m);
  if constexpr (std::is_same_v<A, Fp64>) {
    target.sums = limits_of(conversion_accumulator(moduli, table, m.value()));
  }
  return target;
}

template <class A>
std::size_t words_of_conversion(const BaseConversionTable& table) noexcept {
  return table.from.size() * kWords<ConversionSource<A>> + table.to.size() * kWords<ConversionTarget<A>> +
         table.weight.size();
}

/// Appends an object to words.
template <class T>
Word* put(Word* out, const T& object) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(Word) == 0);
  std::memcpy(out, &object, sizeof object);
  return out + kWords<T>;
}

template <class A>
void write_conversion_of(std::span<const Modulus> moduli, const BaseConversionTable& table, Word* out) noexcept {
  const std::size_t terms = table.from.size();
  for (std::size_t j = 0; j < terms; ++j) {
    const std::uint16_t limb = table.from[j];
    out = put(out, ConversionSource<A>{twiddle_of<A>(table.inverse[j], moduli[limb]), table.reciprocal[j], limb});
  }
  for (std::size_t t = 0; t < table.to.size(); ++t) out = put(out, target_of<A>(moduli, table, t));
  for (std::size_t t = 0; t < table.to.size(); ++t) {
    for (std::size_t j = 0; j < terms; ++j) {
      *out++ = A::to_word(value_of<A>(table.weight[t * terms + j], moduli[table.to[t]]));
    }
  }
}

}  // namespace

template <class A>
void HostTables::fill() {
  using Twiddle = typename A::Twiddle;
  const unsigned log_degree = log2_exact(degree_);
  twiddle_words_ = (moduli_.size() * kWords<typename A::Prime> + 1) & ~std::size_t{1};  // in whole pairs, as read
  words_.resize(twiddle_words_ + (moduli_.size() << log_degree) * kWords<Twiddle>);
  Word* prime = words_.data();
  Word* twiddles = words_.data() + twiddle_words_;
  for (const Modulus& m : moduli_) {
    const std::uint64_t psi = smallest_primitive_root(m.value(), 2 * std::uint64_t{degree_});
    prime = put(prime, prime_of<A>(m, psi, degree_));
    std::uint64_t power = 1;
    for (std::uint32_t i = 0; i < degree_; ++i) {
      put(twiddles + reverse_bits(i, log_degree) * kWords<Twiddle>, twiddle_of<A>(power, m));
      power = m.mul(power, psi);
    }
    twiddles += degree_ * kWords<Twiddle>;
  }
}

HostTables::HostTables(Arithmetic arithmetic, std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes)
    : arithmetic_(arithmetic), degree_(ring_degree), moduli_(primes.begin(), primes.end()) {
  arithmetic == Arithmetic::kFp64 ? fill<Fp64>() : fill<U64>();
}

Tables HostTables::at(const void* base) const noexcept {
  const std::byte* primes = static_cast<const std::byte*>(base);
  return {primes, primes + twiddle_words_ * sizeof(Word), log2_exact(degree_)};
}

Accumulator conversion_accumulator(std::span<const Modulus> moduli, const BaseConversionTable& table,
                                   std::uint64_t target) noexcept {
  // Parts are centred; the quotient, at most (terms + 1)/2, is one more factor.
  const std::size_t terms = table.from.size();
  double largest = static_cast<double>(terms + 1) / 2;
  for (const std::uint16_t limb : table.from) {
    largest = std::max(largest, static_cast<double>(moduli[limb].value()) / 2);
  }
  const double q = static_cast<double>(target);
  return make_accumulator(terms + 1, largest * (q / 2), 0, q);
}

std::size_t convert_words(Arithmetic arithmetic, const BaseConversionTable& table) noexcept {
  return arithmetic == Arithmetic::kFp64 ? words_of_conversion<Fp64>(table) : words_of_conversion<U64>(table);
}

void write_conversion(Arithmetic arithmetic, std::span<const Modulus> moduli, const BaseConversionTable& table,
                      Word* out) noexcept {
  arithmetic == Arithmetic::kFp64 ? write_conversion_of<Fp64>(moduli, table, out)
                                  : write_conversion_of<U64>(moduli, table, out);
}

}  // namespace lw::gpu
