// Hybrid key switching on the fused kernels: the digits of one polynomial against any number of keys in one
// call, and the division that ends it.
#pragma once

#include <optional>

#include "rlwe/switch_keys.hpp"

namespace lw {

/// Coefficient form of the same polynomials, from which digits are cut.
RnsPolys decompose(const Ring& ring, ConstLimbView x);

/// The last polynomial of a ciphertext, cut into digits: owner of all that a SwitchSource points at.
class SwitchOperand {
 public:
  /// x over Q; the kernel extends its digits limb by limb and stores none. `special`: the P limbs of the key.
  SwitchOperand(const Context& context, const Ciphertext& x, const LimbList& special)
      : SwitchOperand(context, x.residues->view(x.degree(), 1, 0, x.residues->limbs().size()),
                      decompose(context.ring(), x.residues->view(x.degree(), 1, 0, x.residues->limbs().size())),
                      x.residues->view(0, x.degree(), 0, x.residues->limbs().size()), special) {}
  SwitchOperand(const Context& context, const Ciphertext& x)
      : SwitchOperand(context, x, context.parameters().special(x.residues->limbs())) {}
  /// A polynomial in both forms and the polys that are not switched, over the same Q limbs, or over QP as they are.
  SwitchOperand(const Context& context, ConstLimbView ntt, RnsPolys coefficients, ConstLimbView rest,
                const LimbList& special);
  /// Digits that were extended before.
  SwitchOperand(const Context& context, const Digits& digits);
  /// One digit, `extended` on all target limbs (P, then Q), and the poly that is not switched, over Q.
  SwitchOperand(const Context& context, const LimbList& limbs, ConstLimbView extended, ConstLimbView rest);
  SwitchOperand(const SwitchOperand&) = delete;

  SwitchSource source() const noexcept;
  /// Target limbs: P, then Q ascending.
  const LimbList& limbs() const noexcept { return limbs_; }
  /// The digit number of each digit in a key.
  const std::vector<std::uint32_t>& digit_numbers() const noexcept { return numbers_; }

 private:
  void cut(const Context& context, ConstLimbView ntt);

  LimbList limbs_;
  std::size_t num_special_;
  std::vector<DigitPart> parts_;
  std::vector<std::uint32_t> numbers_;
  RnsPolys coefficients_;
  std::vector<DigitLimbs> digits_;
  std::optional<ConstLimbView> rest_;
  std::vector<Word> special_product_;
};

/// Digits of x's last polynomial on all target limbs, stored: [digit][P limbs, then Q limbs ascending], NTT form.
RnsPolys extend_digits(const Context& context, const Ciphertext& x, const Tick& tick);

/// Multiplies the operand's digits with every key: two polys over the operand's limbs for each. The keys hold these
/// limbs and digits. tick: called between windows of keys.
std::vector<RnsPolys> key_switch(const Context& context, const SwitchOperand& operand, const SwitchKeys& keys,
                                 const Tick& tick = {});

/// The inner sums of a linear transform, two polys each. `self`: both polys of what was decomposed, over Q. `which`:
/// the keys that rotate babies 1, 2, ...
std::vector<RnsPolys> diag_sums(const Context& context, const SwitchOperand& operand, ConstLimbView self,
                                const SwitchKeys& keys, std::span<const std::size_t> which,
                                std::span<const DiagonalTerm> terms, std::size_t num_giants, const Tick& tick = {});

/// ModDown: (x - [x]_D) / D, rounded to nearest, where D are the limbs of x that are not in `to`: one base conversion
/// of centred residues removes all of them at once. Of the polys from `first` on.
RnsPolys mod_down(const Ring& ring, const RnsPolys& x, const LimbList& to, std::uint32_t first = 0);

/// Copies whole limbs between values of one ring; the limbs of `to` must all be in `from`.
void copy_limbs(const Ring& ring, RnsPolys& to, std::uint32_t to_poly, const RnsPolys& from, std::uint32_t from_poly);

}  // namespace lw
