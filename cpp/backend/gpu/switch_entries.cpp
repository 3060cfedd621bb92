// The fused kernels. What lies outside each digit is lifted and transformed into scratch first; all keys are then one
// launch, and with the sums of a linear transform a few limbs at a time, so that scratch need not hold all babies.
#include <algorithm>
#include <array>

#include "backend/gpu/entries.hpp"
#include "backend/gpu/launch.hpp"

namespace lw::gpu {
namespace {

constexpr std::size_t kWordsAtOnce = std::size_t{1} << 18;  // of a row, in the limbs of babies that are there at once

std::size_t rest_rows(const DigitRows& digit) noexcept {
  return digit.to_rest == nullptr ? 0 : digit.to_rest->to.size();
}

std::size_t extended_words(const GpuQueue& queue, const SwitchSource& source) noexcept {
  std::size_t rows = 0;
  for (const DigitRows& digit : source.digits) rows += rest_rows(digit);
  return rows * degree_of(queue);
}

/// Limbs of babies that are in scratch together.
std::size_t limbs_at_once(const GpuQueue& queue, const SwitchSource& source) noexcept {
  return std::clamp<std::size_t>(kWordsAtOnce / degree_of(queue), 1, std::max<std::size_t>(source.limbs.size(), 1));
}

/// The digits of a source on every target limb; what lies outside a digit is kept in scratch.
template <class A>
class ExtendedDigits {
 public:
  ExtendedDigits(Queue& q, const SwitchSource& source, LimbWindow window, Word* scratch) noexcept
      : queue_(gpu_queue(q)), source_(source), window_(window), scratch_(scratch) {
    if (window.first > 0) return;  // an earlier window has put them there
    const std::size_t stride = degree_of(queue_);
    std::array<std::uint16_t, kMaxLimbs>
        limbs;  // of rows that are lifted and not transformed, up to those at `scratch`
    std::size_t count = 0;
    const auto transform = [&] {
      const Rows rows = {scratch - count * stride, stride, 0, std::span(limbs).first(count), 1};
      if (count > 0) TransformEntries<A>::ntt(q, rows, rows);
      count = 0;
    };
    for (const DigitRows& digit : source.digits) {
      if (digit.to_rest == nullptr) continue;
      const Rows rest = {scratch, stride, 0, digit.to_rest->to, 1};
      TransformEntries<A>::lift(q, rest, digit.coefficients, *digit.to_rest);
      if (count + rest.limbs.size() > limbs.size()) transform();
      std::ranges::copy(rest.limbs, limbs.begin() + static_cast<std::ptrdiff_t>(count));
      count += rest.limbs.size();
      scratch += rest.limbs.size() * stride;
    }
    transform();
  }

  SwitchLimbs limbs(LimbWindow part) const noexcept {
    SwitchLimbs where = {};
    where.first = static_cast<std::uint32_t>(part.first);
    where.count = static_cast<std::uint32_t>(part.count);
    where.num_special = static_cast<std::uint32_t>(source_.num_special);
    where.limbs = numbers_of(source_.limbs.subspan(part.first, part.count));
    for (std::size_t j = std::max(part.first, source_.num_special); j < part.first + part.count; ++j) {
      const Word product = source_.special_product[j - source_.num_special];
      where.special_product.word[j - part.first] = scalar_of<A>(queue_, source_.limbs[j], product);
    }
    return where;
  }

  /// Digits times keys plus P * rest, turned, at the limbs of a part of the window: for key k to result(k).
  template <class Result>
  void multiply(std::span<const KeyRows> keys, LimbWindow part, const Result& result) const noexcept {
    const std::size_t digits = source_.digits.size(), count = part.count;
    Staging staging(queue_);
    const auto rows = staging.put<DigitRow>(
        digits * count, [&](std::size_t i) { return DigitRow{digit_row(i / count, part.first + i % count)}; });
    const auto pairs = staging.put<KeyPair>(keys.size() * digits * count, [&](std::size_t i) {
      const KeyRows& key = keys[i / count / digits];
      const std::size_t at = i / count % digits * window_.count + part.first - window_.first + i % count;
      return KeyPair{key.b[at], key.a[at]};
    });
    const auto results = staging.put<KeyResult>(keys.size(), [&](std::size_t k) {
      return KeyResult{result(k), static_cast<std::uint32_t>(keys[k].galois_element)};
    });
    const bool has_rest = source_.rest != nullptr;
    queue_.launch<KeyProduct<A>>(
        {queue_.tables(), static_cast<std::uint32_t>(digits), has_rest ? source_.rest->polys : 0, rows, pairs, results,
         has_rest ? operand(*source_.rest) : Source{}, limbs(part)},
        row_grid(degree_of(queue_), keys.size(), count));
  }

 private:
  /// Digit d at target limb j.
  const Word* digit_row(std::size_t d, std::size_t j) const noexcept {
    const DigitRows& digit = source_.digits[d];
    const auto place = std::find(digit.ntt.limbs.begin(), digit.ntt.limbs.end(), source_.limbs[j]);
    if (place != digit.ntt.limbs.end()) {
      return digit.ntt.row(0, static_cast<std::size_t>(place - digit.ntt.limbs.begin()));
    }
    const std::vector<std::uint16_t>& rest = digit.to_rest->to;
    const auto at = static_cast<std::size_t>(std::find(rest.begin(), rest.end(), source_.limbs[j]) - rest.begin());
    const SwitchSource before = {{}, 0, source_.digits.first(d), nullptr, {}};
    return scratch_ + extended_words(queue_, before) + at * degree_of(queue_);
  }

  GpuQueue& queue_;
  const SwitchSource& source_;
  const LimbWindow window_;
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
  return extended_words(gpu_queue(q), source);
}

template <class A>
void SwitchEntries<A>::key_switch(Queue& q, std::span<const Rows> out, const SwitchSource& source, LimbWindow window,
                                  std::span<const KeyRows> keys, std::span<Word> scratch) noexcept {
  const ExtendedDigits<A> digits(q, source, window, scratch.data());
  digits.multiply(keys, window, [&](std::size_t k) {
    return Target{out[k].row(0, window.first), out[k].stride, out[k].poly_stride};
  });
}

template <class A>
std::size_t SwitchEntries<A>::diag_sums_scratch(Queue& q, const SwitchSource& source, std::size_t num_keys,
                                                std::size_t) noexcept {
  const GpuQueue& queue = gpu_queue(q);
  return extended_words(queue, source) + 2 * num_keys * limbs_at_once(queue, source) * degree_of(queue);
}

template <class A>
void SwitchEntries<A>::diag_sums(Queue& q, std::span<const Rows> out, const SwitchSource& source, LimbWindow window,
                                 ConstRows self, std::span<const KeyRows> keys, std::span<const DiagonalTerm> terms,
                                 std::span<Word> scratch) noexcept {
  GpuQueue& queue = gpu_queue(q);
  const ExtendedDigits<A> digits(q, source, window, scratch.data());
  Word* const babies = scratch.data() + extended_words(queue, source);
  const std::size_t stride = degree_of(queue), at_once = limbs_at_once(queue, source);
  Staging staging(queue);
  const StagedTerms staged(staging, terms, out.size());
  const auto sums = staging.put<Target>(out.size(), [&](std::size_t g) { return result(out[g]); });
  const std::size_t end = window.first + window.count;
  for (std::size_t first = window.first; first < end; first += at_once) {
    const LimbWindow part = {first, std::min(at_once, end - first)};
    const std::size_t half = part.count * stride;
    digits.multiply(keys, part, [&](std::size_t k) { return Target{babies + 2 * k * half, stride, half}; });
    queue.launch<GiantSums<A>>({queue.tables(), staged.sorted, staged.begins, sums, Source{babies, stride, half},
                                operand(self), digits.limbs(part)},
                               row_grid(stride, out.size(), part.count));
  }
}

template <class A>
std::size_t SwitchEntries<A>::mod_down_scratch(Queue& q, std::uint32_t polys, const LiftTable& table) noexcept {
  return polys * table.to.size() * degree_of(gpu_queue(q));
}

template <class A>
void SwitchEntries<A>::mod_down(Queue& q, Rows out, ConstRows x, ConstRows removed, const LiftTable& table,
                                std::span<const Word> inverse, std::span<Word> scratch) noexcept {
  const std::size_t stride = degree_of(gpu_queue(q));
  const Rows lifted = {scratch.data(), stride, stride * table.to.size(), table.to, out.polys};
  TransformEntries<A>::lift(q, lifted, removed, table);
  TransformEntries<A>::ntt_sub_scale(q, out, x, lifted, inverse);
}

template struct SwitchEntries<Fp64>;
template struct SwitchEntries<U64>;

}  // namespace lw::gpu
