#include "rlwe/key_switch.hpp"

#include <algorithm>

namespace lw {
namespace {

/// Limbs of `held` that are not in `kept`, in their order.
LimbList without(std::span<const std::uint16_t> held, std::span<const std::uint16_t> kept) {
  LimbList rest;
  for (const std::uint16_t limb : held) {
    if (std::find(kept.begin(), kept.end(), limb) == kept.end()) rest.push_back(limb);
  }
  return rest;
}

LimbList join_limbs(LimbList first, std::span<const std::uint16_t> second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// One poly's limbs [first, ...) under a limb list of their own.
ConstLimbView stretch(const ConstLimbView& residues, std::size_t first, std::span<const std::uint16_t> limbs) {
  return {residues.limb(0, first), residues.stride, residues.poly_stride, limbs, 1};
}

/// ModUp of one digit to limbs [first, first + count) of its extended poly, in NTT form.
void extend_digit(const Ring& ring, RnsPolys& out, std::uint32_t d, std::size_t first, std::size_t count,
                  ConstLimbView digit) {
  if (count == 0) return;
  const LimbView residues = out.view(d, 1, first, count);
  ring.kernels().base_convert(ring.queue(), residues, digit, ring.base_conversion_table(digit.limbs, residues.limbs));
  ring.kernels().ntt(ring.queue(), residues, residues);
}

/// body(window) for all windows of a pass.
template <class Body>
void for_each_window(KeyPass& pass, const SwitchOperand& operand, const Tick& tick, const Body& body) {
  for (std::size_t done = 0; done < operand.limbs().size();) {
    if (done > 0) call(tick);
    const KeyWindow window = pass.next();
    body(window);
    done = window.limbs.first + window.limbs.count;
  }
}

/// New pairs of polys, and views of them.
class Pairs {
 public:
  Pairs(const Ring& ring, const LimbList& limbs, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) owners_.emplace_back(ring, limbs, 2);
    for (RnsPolys& owner : owners_) views_.push_back(owner.view());
  }
  std::span<const LimbView> views() const noexcept { return views_; }
  std::vector<RnsPolys> take() noexcept { return std::move(owners_); }

 private:
  std::vector<RnsPolys> owners_;
  std::vector<LimbView> views_;
};

}  // namespace

void copy_limbs(const Ring& ring, RnsPolys& to, std::uint32_t to_poly, const RnsPolys& from, std::uint32_t from_poly) {
  for (const LimbRun& run : find_runs(from.limbs(), to.limbs())) {
    ring.kernels().copy(ring.queue(), to.view(to_poly, 1, run.first_out, run.count),
                        from.view(from_poly, 1, run.first_in, run.count));
  }
}

RnsPolys decompose(const Ring& ring, ConstLimbView x) {
  RnsPolys coefficients(ring, LimbList(x.limbs.begin(), x.limbs.end()), x.polys);
  ring.kernels().intt(ring.queue(), coefficients.view(), x);
  return coefficients;
}

SwitchOperand::SwitchOperand(const Context& context, ConstLimbView ntt, RnsPolys coefficients, ConstLimbView rest,
                             const LimbList& special)
    : limbs_(join_limbs(special, ntt.limbs)),
      num_special_(special.size()),
      parts_(digit_parts(context.parameters(), ntt.limbs)),
      coefficients_(std::move(coefficients)),
      rest_(rest),
      special_product_(context.ring().product_mod(special, ntt.limbs)) {
  cut(context, ntt);
}

void SwitchOperand::cut(const Context& context, ConstLimbView ntt) {
  const ConstLimbView coefficients = std::as_const(coefficients_).view();
  std::size_t first = 0;  // of the digit among the Q limbs: digits are stretches of them
  for (const DigitPart& part : parts_) {
    const BaseConversionTable& table = context.ring().base_conversion_table(part.limbs, without(limbs_, part.limbs));
    digits_.push_back({stretch(coefficients, first, part.limbs), stretch(ntt, first, part.limbs), &table});
    numbers_.push_back(part.number);
    first += part.limbs.size();
  }
}

SwitchOperand::SwitchOperand(const Context& context, const Digits& digits)
    : limbs_(digits.extended->limbs()),
      num_special_(limbs_.size() - digits.source.residues->limbs().size()),
      parts_(digit_parts(context.parameters(), digits.source.residues->limbs())),
      rest_(digits.source.residues->view(0, digits.source.degree(), 0, digits.source.residues->limbs().size())),
      special_product_(
          context.ring().product_mod(std::span(limbs_).first(num_special_), digits.source.residues->limbs())) {
  for (std::uint32_t d = 0; d < parts_.size(); ++d) {
    const ConstLimbView residues = digits.extended->view(d, 1, 0, limbs_.size());
    digits_.push_back({residues, residues, nullptr});
    numbers_.push_back(parts_[d].number);
  }
}

SwitchOperand::SwitchOperand(const Context& context, const LimbList& limbs, ConstLimbView extended, ConstLimbView rest)
    : limbs_(limbs),
      num_special_(limbs_.size() - rest.limbs.size()),
      numbers_{0},
      digits_{{extended, extended, nullptr}},
      rest_(rest),
      special_product_(context.ring().product_mod(std::span(limbs_).first(num_special_), rest.limbs)) {}

SwitchSource SwitchOperand::source() const noexcept {
  return {limbs_, num_special_, digits_, rest_ ? &*rest_ : nullptr, special_product_};
}

RnsPolys extend_digits(const Context& context, const Ciphertext& x, const Tick& tick) {
  const Ring& ring = context.ring();
  const LimbList& q = x.residues->limbs();
  const LimbList limbs = join_limbs(context.parameters().special(q), q);
  const std::size_t num_p = limbs.size() - q.size();
  const std::vector<DigitPart> parts = digit_parts(context.parameters(), q);
  const RnsPolys coefficients = decompose(ring, x.residues->view(x.degree(), 1, 0, q.size()));
  RnsPolys out(ring, limbs, static_cast<std::uint32_t>(parts.size()));
  std::size_t first = 0;  // of the digit among the Q limbs
  for (std::uint32_t d = 0; d < parts.size(); ++d) {
    const std::size_t count = parts[d].limbs.size(), end = num_p + first + count;
    const ConstLimbView digit = stretch(coefficients.view(), first, parts[d].limbs);
    extend_digit(ring, out, d, 0, num_p + first, digit);
    ring.kernels().copy(ring.queue(), out.view(d, 1, num_p + first, count),
                        x.residues->view(x.degree(), 1, first, count));
    extend_digit(ring, out, d, end, limbs.size() - end, digit);
    first += count;
    call(tick);
  }
  return out;
}

std::vector<RnsPolys> key_switch(const Context& context, const SwitchOperand& operand, const SwitchKeys& keys,
                                 const Tick& tick) {
  const Ring& ring = context.ring();
  Pairs out(ring, operand.limbs(), keys.size());
  const SwitchSource source = operand.source();
  Scratch scratch(ring, ring.kernels().key_switch_scratch(ring.queue(), source, keys.size()));
  for_each_window(
      *keys.read_all(operand.digit_numbers(), operand.limbs()), operand, tick, [&](const KeyWindow& window) {
        ring.kernels().key_switch(ring.queue(), out.views(), source, window.limbs, window.keys, scratch.words());
      });
  return out.take();
}

std::vector<RnsPolys> diag_sums(const Context& context, const SwitchOperand& operand, ConstLimbView self,
                                const SwitchKeys& keys, std::span<const std::size_t> which,
                                std::span<const DiagonalTerm> terms, std::size_t num_giants, const Tick& tick) {
  const Ring& ring = context.ring();
  Pairs out(ring, operand.limbs(), num_giants);
  const SwitchSource source = operand.source();
  const bool has_integers = std::ranges::any_of(terms, [](const DiagonalTerm& term) { return term.integers.words; });
  Scratch scratch(ring, ring.kernels().diag_sums_scratch(ring.queue(), source, which.size(), num_giants, has_integers));
  const auto pass = keys.read(which, operand.digit_numbers(), operand.limbs());
  for_each_window(*pass, operand, tick, [&](const KeyWindow& window) {
    ring.kernels().diag_sums(ring.queue(), out.views(), source, window.limbs, self, window.keys, terms,
                             scratch.words());
  });
  return out.take();
}

RnsPolys mod_down(const Ring& ring, const RnsPolys& x, const LimbList& to, std::uint32_t first) {
  const std::uint32_t polys = x.polys() - first;
  LimbList from = without(x.limbs(), to);
  std::sort(from.begin(), from.end());
  RnsPolys removed(ring, from, polys), out(ring, to, polys);
  for (const LimbRun& run : find_runs(x.limbs(), from)) {
    ring.kernels().intt(ring.queue(), removed.view(0, polys, run.first_out, run.count),
                        x.view(first, polys, run.first_in, run.count));
  }
  const std::vector<Word> inverse = ring.inverse_product_mod(from, to);
  for (const LimbRun& run : find_runs(x.limbs(), to)) {  // one, but where `to` skips limbs of x
    const LimbView part = out.view(0, polys, run.first_out, run.count);
    const BaseConversionTable& table = ring.base_conversion_table(from, part.limbs);
    Scratch scratch(ring, ring.kernels().mod_down_scratch(ring.queue(), polys, table));
    ring.kernels().mod_down(ring.queue(), part, x.view(first, polys, run.first_in, run.count),
                            std::as_const(removed).view(), table, std::span(inverse).subspan(run.first_out, run.count),
                            scratch.words());
  }
  return out;
}

}  // namespace lw
