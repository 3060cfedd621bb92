// The fused kernels. Limbs go by batches that stay between kernels in the cache of the device: what lies outside
// each digit is converted in the first pass of its transform.
#include <algorithm>
#include <array>
#include <vector>

#include "backend/gpu/batches.hpp"
#include "backend/gpu/entries.hpp"
#include "backend/gpu/tile_stages.hpp"

namespace lw::gpu {
namespace {

constexpr std::size_t kMostPairs = KeyProduct<Fp64>::kMostPairs, kMostKeys = KeyProduct<Fp64>::kMostKeys;
static_assert(kMostPairs >= kMaxLimbs, "all digits of a limb");
constexpr std::size_t kShareOfDigits = 2 * kCacheShare, kShareOfBabies = 2 * kCacheShare;  // of the cache, in diag_sums

std::size_t num_extended(const SwitchSource& source) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(source.digits, [](const DigitLimbs& digit) { return digit.to_rest != nullptr; }));
}

/// Limbs of a batch of digits, and of their images under automorphisms.
std::size_t digits_at_once(const GpuQueue& queue, const SwitchSource& source, std::size_t share) noexcept {
  const std::size_t fitting = limbs_at_once(queue, num_extended(source), share, source.limbs.size());
  return std::min({fitting, kMostSwitchLimbs, std::max<std::size_t>(1, kMostPairs / source.digits.size())});
}
std::size_t babies_at_once(const GpuQueue& queue, const SwitchSource& source, std::size_t num_keys) noexcept {
  return std::min(limbs_at_once(queue, 2 * num_keys, kShareOfBabies, source.limbs.size()),
                  digits_at_once(queue, source, kShareOfDigits));
}

/// Words of the converted limbs of a batch. A digit has none at its own limbs.
std::size_t extended_words(const GpuQueue& queue, const SwitchSource& source, std::size_t limbs) noexcept {
  std::size_t extended = 0;
  for (const DigitLimbs& digit : source.digits) {
    if (digit.to_rest != nullptr) extended += std::min(limbs, digit.to_rest->to.size());
  }
  return extended * degree_of(queue);
}

/// A ring's word for P at some target limbs.
template <class A>
SwitchLimbs limbs_of(const GpuQueue& queue, const SwitchSource& source, LimbWindow part) noexcept {
  SwitchLimbs where = {};
  where.first = static_cast<std::uint32_t>(part.first);
  where.count = static_cast<std::uint32_t>(part.count);
  where.num_special = static_cast<std::uint32_t>(source.num_special);
  std::ranges::copy(source.limbs.subspan(part.first, part.count), where.limb);
  for (std::size_t j = std::max(part.first, source.num_special); j < part.first + part.count; ++j) {
    const Word product = source.special_product[j - source.num_special];
    where.special_product[j - part.first] = scalar_of<A>(queue, source.limbs[j], product);
  }
  return where;
}

/// The digits of a source at the limbs of a batch; what lies outside a digit is in scratch.
template <class A>
class ExtendedDigits {
 public:
  ExtendedDigits(Queue& q, const SwitchSource& source, LimbWindow batch, Word* scratch) noexcept
      : queue_(gpu_queue(q)), source_(source), batch_(batch), scratch_(scratch) {
    std::vector<ConversionPart> parts;
    std::vector<std::uint16_t> limbs;  // of the limbs in scratch
    for (const DigitLimbs& digit : source.digits) {
      if (digit.to_rest == nullptr) continue;
      const std::size_t before = limbs.size();
      for (const std::uint16_t limb : source.limbs.subspan(batch.first, batch.count)) {
        if (!is_own(digit, limb)) limbs.push_back(limb);
      }
      if (limbs.size() == before) continue;
      const std::vector<std::uint16_t>& to = digit.to_rest->to;
      const auto first = static_cast<std::size_t>(std::find(to.begin(), to.end(), limbs[before]) - to.begin());
      parts.push_back({digit.to_rest, digit.coefficients, first, limbs.size() - before});
    }
    const LimbView extended = {scratch, degree_of(queue_), 0, limbs, 1};
    if (!ConversionEntries<A>::convert_ntt_begin(q, extended, parts)) return;
    for (std::size_t first = 0; first < limbs.size(); first += kMaxLimbs) {
      const std::size_t count = std::min(kMaxLimbs, limbs.size() - first);
      TransformEntries<A>::ntt_end(q, cut(extended, first, std::span(limbs).subspan(first, count)));
    }
  }

  /// Digits times keys plus P * rest, under the key's automorphism, at the limbs of a part of the batch: for key k to
  /// result(k). Keys are those of the window.
  template <class Result>
  void multiply(std::span<const KeyLimbs> keys, LimbWindow window, LimbWindow part,
                const Result& result) const noexcept {
    const std::size_t digits = source_.digits.size(), count = part.count;
    typename KeyProduct<A>::Args args = {};
    args.tables = queue_.tables();
    args.num_digits = static_cast<std::uint32_t>(digits);
    if (source_.rest != nullptr) {
      args.rest_polys = source_.rest->polys;
      args.has_rest_over_p = source_.has_rest_over_p();
      args.rest = operand(*source_.rest);
    }
    args.where = limbs_of<A>(queue_, source_, part);
    const Word* converted = scratch_;  // the next limb outside its digit
    for (std::size_t d = 0; d < digits; ++d) {
      const DigitLimbs& digit = source_.digits[d];
      converted += converted_words(digit, batch_.first, part.first);
      for (std::size_t j = 0; j < count; ++j) args.digits[d * count + j] = digit_limb(digit, part.first + j, converted);
      converted += converted_words(digit, part.first + count, batch_.first + batch_.count);
    }
    const std::size_t at_once = std::min(kMostKeys, kMostPairs / (digits * count));
    for (std::size_t first = 0; first < keys.size(); first += at_once) {
      const std::size_t some = std::min(at_once, keys.size() - first);
      for (std::size_t k = 0; k < some; ++k) {
        const KeyLimbs& key = keys[first + k];
        args.results[k] = {result(first + k), static_cast<std::uint32_t>(key.galois_element)};
        for (std::size_t i = 0; i < digits * count; ++i) {
          const std::size_t at = i / count * window.count + part.first - window.first + i % count;
          args.keys[k * digits * count + i] = {key.b[at], key.a[at]};
        }
      }
      queue_.launch<KeyProduct<A>>(args, limb_grid(degree_of(queue_) / 2, some, count));
    }
  }

 private:
  static bool is_own(const DigitLimbs& digit, std::uint16_t limb) noexcept {
    return std::ranges::find(digit.ntt.limbs, limb) != digit.ntt.limbs.end();
  }
  /// Words in scratch of a digit's limbs at target limbs [first, end).
  std::size_t converted_words(const DigitLimbs& digit, std::size_t first, std::size_t end) const noexcept {
    if (digit.to_rest == nullptr) return 0;
    const auto limbs = source_.limbs.subspan(first, end - first);
    const auto outside = std::ranges::count_if(limbs, [&](std::uint16_t limb) { return !is_own(digit, limb); });
    return static_cast<std::size_t>(outside) * degree_of(queue_);
  }
  /// A digit's limb at target limb j: given, or the next one in scratch.
  const Word* digit_limb(const DigitLimbs& digit, std::size_t j, const Word*& converted) const noexcept {
    const auto place = std::ranges::find(digit.ntt.limbs, source_.limbs[j]) - digit.ntt.limbs.begin();
    if (static_cast<std::size_t>(place) < digit.ntt.limbs.size()) {
      return digit.ntt.limb(0, static_cast<std::size_t>(place));
    }
    const Word* const limb = converted;
    converted += degree_of(queue_);
    return limb;
  }

  GpuQueue& queue_;
  const SwitchSource& source_;
  const LimbWindow batch_;
  const Word* const scratch_;
};

/// The terms of a linear transform, those of one giant together, and where they begin.
struct StagedTerms {
  StagedTerms(Staging& staging, std::span<const DiagonalTerm> terms, std::size_t num_giants) noexcept {
    std::size_t giant = 0, next = 0;
    sorted = staging.put<GiantTerm>(terms.size(), [&](std::size_t) {
      while (terms[next].giant != giant) {
        if (++next == terms.size()) ++giant, next = 0;
      }
      const DiagonalTerm& term = terms[next];
      if (++next == terms.size()) ++giant, next = 0;
      return GiantTerm{term.plain.base, term.plain.stride, term.baby};
    });
    begins = staging.put<std::uint32_t>(num_giants + 1, [&](std::size_t g) {
      return static_cast<std::uint32_t>(
          std::count_if(terms.begin(), terms.end(), [g](const DiagonalTerm& term) { return term.giant < g; }));
    });
  }

  Global<const GiantTerm> sorted;
  Global<const std::uint32_t> begins;
};

}  // namespace

template <class A>
std::size_t SwitchEntries<A>::key_switch_scratch(Queue& q, const SwitchSource& source, std::size_t) noexcept {
  const GpuQueue& queue = gpu_queue(q);
  return extended_words(queue, source, digits_at_once(queue, source, kCacheShare));
}

template <class A>
void SwitchEntries<A>::key_switch(Queue& q, std::span<const LimbView> out, const SwitchSource& source,
                                  LimbWindow window, std::span<const KeyLimbs> keys, std::span<Word> scratch) noexcept {
  const GpuQueue& queue = gpu_queue(q);
  for (const LimbWindow batch : batches_of(window, digits_at_once(queue, source, kCacheShare))) {
    const ExtendedDigits<A> digits(q, source, batch, scratch.data());
    digits.multiply(keys, window, batch, [&](std::size_t k) {
      return Target{out[k].limb(0, batch.first), out[k].stride, out[k].poly_stride};
    });
  }
}

template <class A>
std::size_t SwitchEntries<A>::diag_sums_scratch(Queue& q, const SwitchSource& source, std::size_t num_keys, std::size_t,
                                                bool) noexcept {
  const GpuQueue& queue = gpu_queue(q);
  return extended_words(queue, source, digits_at_once(queue, source, kShareOfDigits)) +
         2 * num_keys * babies_at_once(queue, source, num_keys) * degree_of(queue);
}

template <class A>
void SwitchEntries<A>::diag_sums(Queue& q, std::span<const LimbView> out, const SwitchSource& source, LimbWindow window,
                                 ConstLimbView self, std::span<const KeyLimbs> keys,
                                 std::span<const DiagonalTerm> terms, std::span<Word> scratch) noexcept {
  GpuQueue& queue = gpu_queue(q);
  const std::size_t stride = degree_of(queue), of_digits = digits_at_once(queue, source, kShareOfDigits);
  const std::size_t of_babies = babies_at_once(queue, source, keys.size());
  Word* const babies = scratch.data() + extended_words(queue, source, of_digits);
  Staging staging(queue);
  const StagedTerms staged(staging, terms, out.size());
  const auto sums = staging.put<Target>(out.size(), [&](std::size_t g) { return result(out[g]); });
  for (const LimbWindow batch : batches_of(window, of_digits)) {
    const ExtendedDigits<A> digits(q, source, batch, scratch.data());
    for (const LimbWindow part : batches_of(batch, of_babies)) {
      const std::size_t half = part.count * stride;
      digits.multiply(keys, window, part, [&](std::size_t k) { return Target{babies + 2 * k * half, stride, half}; });
      queue.launch<GiantSums<A>>({queue.tables(), staged.sorted, staged.begins, sums, Source{babies, stride, half},
                                  operand(self), limbs_of<A>(queue, source, part)},
                                 limb_grid(stride / 2, out.size(), part.count));
    }
  }
}

template <class A>
std::size_t SwitchEntries<A>::mod_down_scratch(Queue& q, std::uint32_t polys,
                                               const BaseConversionTable& table) noexcept {
  const GpuQueue& queue = gpu_queue(q);
  return polys * limbs_at_once(queue, polys, kCacheShare, table.to.size()) * degree_of(queue);
}

template <class A>
void SwitchEntries<A>::mod_down(Queue& q, LimbView out, ConstLimbView x, ConstLimbView removed,
                                const BaseConversionTable& table, std::span<const Word> inverse,
                                std::span<Word> scratch) noexcept {
  const std::size_t at_once = limbs_at_once(gpu_queue(q), out.polys, kCacheShare, table.to.size());
  for (const LimbWindow batch : batches_of({0, table.to.size()}, at_once)) {
    const auto limbs = out.limbs.subspan(batch.first, batch.count);
    const ConstLimbView of_x = {x.limb(0, batch.first), x.stride, x.poly_stride, limbs, x.polys};
    ConversionEntries<A>::convert_ntt_sub_scale(q, cut(out, batch.first, limbs), of_x,
                                                {&table, removed, batch.first, batch.count},
                                                inverse.subspan(batch.first, batch.count), scratch.data());
  }
}

template struct SwitchEntries<Fp64>;
template struct SwitchEntries<U64>;

}  // namespace lw::gpu
