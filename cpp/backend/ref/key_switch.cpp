// The fused kernels by composition: digits are extended to all limbs first, and stay in scratch.
#include <algorithm>

#include "backend/host_device.hpp"
#include "backend/ref/kernels.hpp"
#include "backend/ref/queue.hpp"

namespace lw::ref {
namespace {

std::size_t limb_stride(const RefQueue& queue) noexcept { return host_limb_stride(queue.degree); }

std::size_t rest_limbs(const DigitLimbs& digit) noexcept {
  return digit.to_rest == nullptr ? 0 : digit.to_rest->to.size();
}

std::size_t extended_words(const RefQueue& queue, const SwitchSource& source) noexcept {
  std::size_t limbs = 0;
  for (const DigitLimbs& digit : source.digits) limbs += rest_limbs(digit);
  return limbs * limb_stride(queue);
}

/// Two polys over the target limbs, at `base`.
LimbView pair_at(const RefQueue& queue, const SwitchSource& source, Word* base) noexcept {
  const std::size_t stride = limb_stride(queue);
  return {base, stride, stride * source.limbs.size(), source.limbs, 2};
}

/// The digits of a source on every target limb; what lies outside a digit is kept in scratch.
class ExtendedDigits {
 public:
  ExtendedDigits(Queue& q, const SwitchSource& source, LimbWindow window, Word* scratch) noexcept
      : source_(source), window_(window), scratch_(scratch), stride_(limb_stride(ref_queue(q))) {
    if (window.first > 0) return;  // an earlier window has put them there
    Word* base = scratch;
    for (const DigitLimbs& digit : source.digits) {
      if (digit.to_rest == nullptr) continue;
      const LimbView rest = {base, stride_, 0, digit.to_rest->to, 1};
      base_convert(q, rest, digit.coefficients, *digit.to_rest);
      ntt(q, rest, rest);
      base += rest_limbs(digit) * stride_;
    }
  }

  /// sum_d digit_d * key + P * rest on one limb of one half.
  void product_limb(const RefQueue& queue, const KeyLimbs& key, std::size_t half, std::size_t j,
                    Word* out) const noexcept {
    constexpr std::size_t kSafeTerms = 128;  // products are below 2^120: so many and a reduced remainder fit 128 bits
    constexpr std::size_t kBlock = 256;
    const Modulus m = queue.moduli[source_.limbs[j]];
    const std::span<const Word* const> key_half = half == 0 ? key.b : key.a;
    U128 sums[kBlock];
    for (std::size_t start = 0; start < queue.degree; start += kBlock) {
      const std::size_t size = std::min<std::size_t>(kBlock, queue.degree - start);
      rest_block(m, half, j, start, size, sums);
      const Word* extended = scratch_;
      for (std::size_t d = 0; d < source_.digits.size(); ++d) {
        if (d % kSafeTerms == kSafeTerms - 1) {
          for (std::size_t i = 0; i < size; ++i) sums[i] = m.reduce(sums[i]);
        }
        const Word* x = digit_limb(source_.digits[d], extended, j) + start;
        const Word* y = key_half[d * window_.count + j - window_.first] + start;
        for (std::size_t i = 0; i < size; ++i) sums[i] += static_cast<U128>(x[i]) * y[i];
        extended += rest_limbs(source_.digits[d]) * stride_;
      }
      for (std::size_t i = 0; i < size; ++i) out[start + i] = m.reduce(sums[i]);
    }
  }

 private:
  const Word* digit_limb(const DigitLimbs& digit, const Word* extended, std::size_t j) const noexcept {
    const std::span<const std::uint16_t> own = digit.ntt.limbs;
    const auto place = std::find(own.begin(), own.end(), source_.limbs[j]);
    if (place != own.end()) return digit.ntt.limb(0, static_cast<std::size_t>(place - own.begin()));
    const std::vector<std::uint16_t>& rest = digit.to_rest->to;
    return extended +
           static_cast<std::size_t>(std::find(rest.begin(), rest.end(), source_.limbs[j]) - rest.begin()) * stride_;
  }

  /// sums = P * rest, or zero where there is none.
  void rest_block(const Modulus& m, std::size_t half, std::size_t j, std::size_t start, std::size_t size,
                  U128* sums) const noexcept {
    const bool is_over_p = source_.has_rest_over_p();
    if (source_.rest == nullptr || half >= source_.rest->polys || (!is_over_p && j < source_.num_special)) {
      std::fill_n(sums, size, U128{0});
      return;
    }
    if (is_over_p) {
      std::copy_n(source_.rest->limb(half, j) + start, size, sums);
      return;
    }
    const Word* x = source_.rest->limb(half, j - source_.num_special) + start;
    const ShoupFactor factor(source_.special_product[j - source_.num_special], m.value());
    for (std::size_t i = 0; i < size; ++i) sums[i] = factor.mul(x[i], m.value());
  }

  const SwitchSource& source_;
  LimbWindow window_;
  const Word* scratch_;
  std::size_t stride_;
};

/// The limbs of a window.
LimbView cut(const LimbView& view, LimbWindow window) noexcept {
  return {view.limb(0, window.first), view.stride, view.poly_stride, view.limbs.subspan(window.first, window.count),
          view.polys};
}
ConstLimbView cut(const ConstLimbView& view, LimbWindow window) noexcept {
  return {view.limb(0, window.first), view.stride, view.poly_stride, view.limbs.subspan(window.first, window.count),
          view.polys};
}

/// The result of one key at the limbs of a window, before its automorphism into `product`, then into `out`.
void apply_key(Queue& q, const LimbView& out, const LimbView& product, const ExtendedDigits& digits, LimbWindow window,
               const KeyLimbs& key) noexcept {
  RefQueue& queue = ref_queue(q);
  const bool has_automorphism = key.galois_element != 1;
  const LimbView to = cut(has_automorphism ? product : out, window);
  queue.for_limbs(to, 4 + 3 * key.b.size() / window.count, [&](std::size_t half, std::size_t i) {
    digits.product_limb(queue, key, half, window.first + i, to.limb(half, i));
  });
  if (has_automorphism) automorphism(q, cut(out, window), to, key.galois_element);
}

/// out[g] += plain * value for every term of one baby, at the limbs of a window. Coefficients are transformed to
/// `lifted`, one poly over the target limbs.
void add_terms(Queue& q, std::span<const LimbView> out, std::span<const DiagonalTerm> terms, std::uint32_t baby,
               const LimbView& value, LimbWindow window, const LimbView& lifted) noexcept {
  for (const DiagonalTerm& term : terms) {
    if (term.baby != baby) continue;
    const bool is_plain = term.integers.words == nullptr;
    if (!is_plain) ntt_integers(q, cut(lifted, window), term.integers);
    mul_add(q, cut(out[term.giant], window), cut(value, window), cut(is_plain ? term.plain : lifted, window));
  }
}

/// out = P * self, zero on the P limbs, at the limbs of a window.
void scale_self(Queue& q, const LimbView& out, const SwitchSource& source, const ConstLimbView& self,
                LimbWindow window) noexcept {
  const std::size_t special = source.num_special, end = window.first + window.count;
  const LimbWindow over_p = {window.first, std::min(end, std::max(special, window.first)) - window.first};
  const LimbWindow over_q = {over_p.first + over_p.count, window.count - over_p.count};
  if (over_p.count > 0) zero(q, cut(out, over_p));
  if (over_q.count == 0) return;
  const std::size_t first = over_q.first - special;
  mul_scalar(q, cut(out, over_q), cut(self, {first, over_q.count}),
             source.special_product.subspan(first, over_q.count));
}

}  // namespace

std::size_t key_switch_scratch(Queue& q, const SwitchSource& source, std::size_t) noexcept {
  const RefQueue& queue = ref_queue(q);
  return extended_words(queue, source) + 2 * source.limbs.size() * limb_stride(queue);
}

void key_switch(Queue& q, std::span<const LimbView> out, const SwitchSource& source, LimbWindow window,
                std::span<const KeyLimbs> keys, std::span<Word> scratch) noexcept {
  const RefQueue& queue = ref_queue(q);
  const ExtendedDigits digits(q, source, window, scratch.data());
  const LimbView product = pair_at(queue, source, scratch.data() + extended_words(queue, source));
  for (std::size_t k = 0; k < keys.size(); ++k) apply_key(q, out[k], product, digits, window, keys[k]);
}

std::size_t diag_sums_scratch(Queue& q, const SwitchSource& source, std::size_t num_keys, std::size_t,
                              bool has_integers) noexcept {
  const std::size_t limbs = (has_integers ? 3 : 2) * source.limbs.size();
  return key_switch_scratch(q, source, num_keys) + limbs * limb_stride(ref_queue(q));
}

void diag_sums(Queue& q, std::span<const LimbView> out, const SwitchSource& source, LimbWindow window,
               ConstLimbView self, std::span<const KeyLimbs> keys, std::span<const DiagonalTerm> terms,
               std::span<Word> scratch) noexcept {
  const RefQueue& queue = ref_queue(q);
  const ExtendedDigits digits(q, source, window, scratch.data());
  Word* pairs = scratch.data() + extended_words(queue, source);
  const LimbView product = pair_at(queue, source, pairs);
  const std::size_t a_pair = 2 * source.limbs.size() * limb_stride(queue);
  const LimbView baby = pair_at(queue, source, pairs + a_pair);
  LimbView lifted = pair_at(queue, source, pairs + 2 * a_pair);
  lifted.polys = 1;
  for (const LimbView& sum : out) zero(q, cut(sum, window));
  scale_self(q, baby, source, self, window);
  add_terms(q, out, terms, 0, baby, window, lifted);
  for (std::uint32_t k = 0; k < keys.size(); ++k) {
    apply_key(q, baby, product, digits, window, keys[k]);
    add_terms(q, out, terms, k + 1, baby, window, lifted);
  }
}

std::size_t mod_down_scratch(Queue& q, std::uint32_t polys, const BaseConversionTable& table) noexcept {
  return polys * table.to.size() * limb_stride(ref_queue(q));
}

void mod_down(Queue& q, LimbView out, ConstLimbView x, ConstLimbView removed, const BaseConversionTable& table,
              std::span<const Word> inverse, std::span<Word> scratch) noexcept {
  const std::size_t stride = limb_stride(ref_queue(q));
  const LimbView extended = {scratch.data(), stride, stride * table.to.size(), table.to, out.polys};
  base_convert(q, extended, removed, table);
  ntt(q, extended, extended);
  sub_scale(q, out, x, extended, inverse);
}

}  // namespace lw::ref
