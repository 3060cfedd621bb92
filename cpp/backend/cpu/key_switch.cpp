// The fused kernels by composition: digits are extended to all limbs first, and stay in scratch.
#include <algorithm>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"
#include "math/shoup.hpp"

namespace lw::cpu {
namespace {

constexpr std::size_t kPadding = 8;  // words: rows of power-of-two length would share cache sets

std::size_t row_stride(const CpuQueue& queue) noexcept { return queue.degree + kPadding; }

std::size_t rest_rows(const DigitRows& digit) noexcept {
  return digit.to_rest == nullptr ? 0 : digit.to_rest->to.size();
}

std::size_t extended_words(const CpuQueue& queue, const SwitchSource& source) noexcept {
  std::size_t rows = 0;
  for (const DigitRows& digit : source.digits) rows += rest_rows(digit);
  return rows * row_stride(queue);
}

/// Two polys over the target limbs, at `base`.
Rows pair_at(const CpuQueue& queue, const SwitchSource& source, Word* base) noexcept {
  const std::size_t stride = row_stride(queue);
  return {base, stride, stride * source.limbs.size(), source.limbs, 2};
}

/// The digits of a source on every target limb; what lies outside a digit is kept in scratch.
class ExtendedDigits {
 public:
  ExtendedDigits(Queue& q, const SwitchSource& source, Word* scratch) noexcept
      : source_(source), scratch_(scratch), stride_(row_stride(cpu_queue(q))) {
    Word* base = scratch;
    for (const DigitRows& digit : source.digits) {
      if (digit.to_rest == nullptr) continue;
      const Rows rest = {base, stride_, 0, digit.to_rest->to, 1};
      lift(q, rest, digit.coefficients, *digit.to_rest);
      ntt(q, rest);
      base += rest_rows(digit) * stride_;
    }
  }

  /// sum_d digit_d * key + P * rest on one row of one half.
  void product_row(const CpuQueue& queue, const KeyRows& key, std::size_t half, std::size_t j,
                   Word* out) const noexcept {
    constexpr std::size_t kSafeTerms = 128;  // products are below 2^120: so many and a reduced remainder fit 128 bits
    constexpr std::size_t kBlock = 256;
    const Modulus m = queue.moduli[source_.limbs[j]];
    const ConstRows& key_half = half == 0 ? key.b : key.a;
    U128 sums[kBlock];
    for (std::size_t start = 0; start < queue.degree; start += kBlock) {
      const std::size_t size = std::min<std::size_t>(kBlock, queue.degree - start);
      rest_block(m, half, j, start, size, sums);
      const Word* lifted = scratch_;
      for (std::size_t d = 0; d < source_.digits.size(); ++d) {
        if (d % kSafeTerms == kSafeTerms - 1) {
          for (std::size_t i = 0; i < size; ++i) sums[i] = m.reduce(sums[i]);
        }
        const Word* x = digit_row(source_.digits[d], lifted, j) + start;
        const Word* y = key_half.row(key.digit_poly[d], key.limb_row[j]) + start;
        for (std::size_t i = 0; i < size; ++i)
          sums[i] += static_cast<U128>(canonical(x[i], m.value())) * canonical(y[i], m.value());
        lifted += rest_rows(source_.digits[d]) * stride_;
      }
      for (std::size_t i = 0; i < size; ++i) out[start + i] = balanced_word(m.reduce(sums[i]), m.value());
    }
  }

 private:
  const Word* digit_row(const DigitRows& digit, const Word* lifted, std::size_t j) const noexcept {
    const std::span<const std::uint16_t> own = digit.ntt.limbs;
    const auto place = std::find(own.begin(), own.end(), source_.limbs[j]);
    if (place != own.end()) return digit.ntt.row(0, static_cast<std::size_t>(place - own.begin()));
    const std::vector<std::uint16_t>& rest = digit.to_rest->to;
    return lifted +
           static_cast<std::size_t>(std::find(rest.begin(), rest.end(), source_.limbs[j]) - rest.begin()) * stride_;
  }

  /// sums = P * rest, or zero where there is none.
  void rest_block(const Modulus& m, std::size_t half, std::size_t j, std::size_t start, std::size_t size,
                  U128* sums) const noexcept {
    if (source_.rest == nullptr || half >= source_.rest->polys || j < source_.num_special) {
      std::fill_n(sums, size, U128{0});
      return;
    }
    const Word* x = source_.rest->row(half, j - source_.num_special) + start;
    const ShoupFactor factor(source_.special_product[j - source_.num_special], m.value());
    for (std::size_t i = 0; i < size; ++i) sums[i] = factor.mul(canonical(x[i], m.value()), m.value());
  }

  const SwitchSource& source_;
  const Word* scratch_;
  std::size_t stride_;
};

/// The result of one key, before its automorphism into `product`, then into `out`.
void apply_key(Queue& q, const Rows& out, const Rows& product, const ExtendedDigits& digits, const SwitchSource& source,
               const KeyRows& key) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const bool turns = key.galois_element != 1;
  const Rows& to = turns ? product : out;
  queue.for_rows(to, queue.degree * (4 + 3 * source.digits.size()),
                 [&](std::size_t half, std::size_t j) { digits.product_row(queue, key, half, j, to.row(half, j)); });
  if (turns) automorphism(q, out, product, key.galois_element);
}

/// out[g] += plain * value for every term of one baby.
void add_terms(Queue& q, std::span<const Rows> out, std::span<const DiagonalTerm> terms, std::uint32_t baby,
               ConstRows value) noexcept {
  for (const DiagonalTerm& term : terms) {
    if (term.baby == baby) mul_add(q, out[term.giant], value, term.plain);
  }
}

/// out = P * self, zero on the P limbs.
void scale_self(Queue& q, const Rows& out, const SwitchSource& source, const ConstRows& self) noexcept {
  const std::size_t special = source.num_special;
  const Rows over_p = {out.base, out.stride, out.poly_stride, source.limbs.first(special), 2};
  const Rows over_q = {out.row(0, special), out.stride, out.poly_stride, source.limbs.subspan(special), 2};
  cpu_queue(q).for_rows(over_p, cpu_queue(q).degree, [&](std::size_t half, std::size_t j) {
    std::fill_n(over_p.row(half, j), cpu_queue(q).degree, Word{0});
  });
  mul_scalar(q, over_q, self, source.special_product);
}

}  // namespace

std::size_t key_switch_scratch(Queue& q, const SwitchSource& source, std::size_t) noexcept {
  const CpuQueue& queue = cpu_queue(q);
  return extended_words(queue, source) + 2 * source.limbs.size() * row_stride(queue);
}

void key_switch(Queue& q, std::span<const Rows> out, const SwitchSource& source, std::span<const KeyRows> keys,
                std::span<Word> scratch) noexcept {
  const CpuQueue& queue = cpu_queue(q);
  const ExtendedDigits digits(q, source, scratch.data());
  const Rows product = pair_at(queue, source, scratch.data() + extended_words(queue, source));
  for (std::size_t k = 0; k < keys.size(); ++k) apply_key(q, out[k], product, digits, source, keys[k]);
}

std::size_t diag_sums_scratch(Queue& q, const SwitchSource& source, std::size_t num_keys, std::size_t) noexcept {
  return key_switch_scratch(q, source, num_keys) + 2 * source.limbs.size() * row_stride(cpu_queue(q));
}

void diag_sums(Queue& q, std::span<const Rows> out, const SwitchSource& source, ConstRows self,
               std::span<const KeyRows> keys, std::span<const DiagonalTerm> terms, std::span<Word> scratch) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const ExtendedDigits digits(q, source, scratch.data());
  Word* pairs = scratch.data() + extended_words(queue, source);
  const Rows product = pair_at(queue, source, pairs);
  const Rows baby = pair_at(queue, source, pairs + 2 * source.limbs.size() * row_stride(queue));
  for (const Rows& sum : out) {
    queue.for_rows(sum, queue.degree,
                   [&](std::size_t half, std::size_t j) { std::fill_n(sum.row(half, j), queue.degree, Word{0}); });
  }
  scale_self(q, baby, source, self);
  add_terms(q, out, terms, 0, baby);
  for (std::uint32_t k = 0; k < keys.size(); ++k) {
    apply_key(q, baby, product, digits, source, keys[k]);
    add_terms(q, out, terms, k + 1, baby);
  }
}

std::size_t mod_down_scratch(Queue& q, std::uint32_t polys, const LiftTable& table) noexcept {
  return polys * table.to.size() * row_stride(cpu_queue(q));
}

void mod_down(Queue& q, Rows out, ConstRows x, ConstRows removed, const LiftTable& table, std::span<const Word> inverse,
              std::span<Word> scratch) noexcept {
  const std::size_t stride = row_stride(cpu_queue(q));
  const Rows lifted = {scratch.data(), stride, stride * table.to.size(), table.to, out.polys};
  lift(q, lifted, removed, table);
  ntt(q, lifted);
  sub_scale(q, out, x, lifted, inverse);
}

}  // namespace lw::cpu
