#include "schemes/bfv/tables.hpp"

#include "math/error.hpp"

namespace lw::bfv {
namespace {

std::vector<Word> times(const Ring& ring, std::span<const std::uint16_t> limbs, std::vector<Word> a,
                        const std::vector<Word>& b) {
  for (std::size_t i = 0; i < limbs.size(); ++i) a[i] = ring.modulus(limbs[i]).mul(a[i], b[i]);
  return a;
}

LimbList joined(const LimbList& a, const LimbList& b) {
  LimbList all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

}  // namespace

void require_bfv(const Parameters& parameters, const char* who) {
  if (parameters.is_bfv()) return;
  throw Error(ErrorKind::kParameterMismatch,
              std::string(who) + ": these are CKKS parameters; BFV needs ones with a plain_modulus");
}

BaseConversionTable scaled_conversion(const Ring& ring, const LimbList& from, const LimbList& to,
                                      const std::vector<Word>& before, const std::vector<Word>& after) {
  BaseConversionTable table = ring.base_conversion_table(from, to);
  table.number = 0;
  table.inverse = times(ring, from, std::move(table.inverse), before);
  table.total = times(ring, to, std::move(table.total), after);
  for (std::size_t i = 0; i < to.size(); ++i) {
    for (std::size_t j = 0; j < from.size(); ++j) {
      Word& weight = table.weight[i * from.size() + j];
      weight = ring.modulus(to[i]).mul(weight, after[i]);
    }
  }
  return table;
}

BaseConversionTable rounded_quotient(const Ring& ring, const LimbList& from, const LimbList& to,
                                     const std::vector<Word>& before) {
  std::vector<Word> after = ring.inverse_product_mod(from, to);
  for (std::size_t i = 0; i < to.size(); ++i) after[i] = ring.modulus(to[i]).neg(after[i]);
  return scaled_conversion(ring, from, to, before, after);
}

ProductTables::ProductTables(const Context& context, Level level)
    : q(context.limbs(level, Basis::kQ)), b(context.parameters().extension(level)) {
  const Ring& ring = context.ring();
  const LimbList p = context.parameters().special(q);
  const I128 t = context.parameters().fields().plain_modulus;
  pb = joined(p, b);
  const std::vector<Word> inverse_b = ring.inverse_product_mod(b, q), t_mod_b = ring.residues(t, b);
  extend = ring.base_conversion_table(q, b);
  shrink = rounded_quotient(ring, q, b, ring.product_mod(b, q));
  back = scaled_conversion(ring, b, q, ring.residues(1, b), times(ring, q, ring.residues(t, q), inverse_b));
  divide = scaled_conversion(ring, b, q, t_mod_b, inverse_b);
  std::vector<Word> before = ring.product_mod(b, p);
  const std::vector<Word> on_b = times(ring, b, ring.product_mod(p, b), t_mod_b);
  before.insert(before.end(), on_b.begin(), on_b.end());
  divide_both = scaled_conversion(ring, pb, q, before, inverse_b);
  for (BaseConversionTable* table : {&shrink, &back, &divide, &divide_both}) table->number = new_table_number();
  one = ring.residues(1, q);
  special_inverse = ring.inverse_product_mod(p, q);
}

}  // namespace lw::bfv
