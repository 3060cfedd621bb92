// BFV products by the HPS method. A ciphertext decrypts as t/Q * c(s) = m + noise + t * (integer polynomial); the
// product of two of them is t/Q * (a * b), whose rounding needs more than Q. Here b is first brought to the basis B,
//
//   b' = round(B/Q * b),  and the result is  round(t/B * a * b') modulo Q,
//
// computed modulo QB. No bound on the tensor a * b' is needed: adding a multiple of QB to it changes the result by a
// multiple of t * Q, which is 0 modulo Q. So B has to be large only for the sake of noise: rounding b' costs noise of
// t/B * |rounding| in place of the t/Q * |noise of b| that b has anyway, which is why B >= Q/2 suffices (and what
// latticework.plan.parameters.bfv_noise counts). The division by B, and that by P of a key switch, are one exact
// rounding:
//
//   (P * t * x + B * y) / (PB)  =  t/B * x + y / P   for the tensor x and the key product y,
//
// so the degree-1 result needs one base conversion from the limbs of P and B together. L limbs of Q, M of B, K of P and
// D digits cost 4L + 3M inverse and 2L + 4M forward transforms for the tensor, L for c2, and L more for its own form,
// the key switch D(L + K) - L and 2K, the end 2L. Source: the HPS-over-Q variant of Kim, Polyakov, Zucca (ePrint
// 2021/204), here with all factors inside the base conversions.
#include "schemes/bfv/evaluator.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "math/brief_lock.hpp"
#include "math/error.hpp"

namespace lw::bfv {
namespace {

std::size_t whole(const RnsPolys& x) noexcept { return x.limbs().size(); }

LimbView poly(RnsPolys& x, std::uint32_t i) noexcept { return x.view(i, 1, 0, whole(x)); }
ConstLimbView poly(const RnsPolys& x, std::uint32_t i) noexcept { return x.view(i, 1, 0, whole(x)); }

/// (a0, a1) * (b0, b1), three polys over the limbs of `out`.
void multiply(const Ring& ring, const std::array<LimbView, 3>& out, const std::array<ConstLimbView, 2>& a,
              const std::array<ConstLimbView, 2>& b) {
  const Kernels& kernels = ring.kernels();
  const std::array<ConstLimbView, 2> swapped{b[1], b[0]};
  kernels.mul(ring.queue(), out[0], a[0], b[0]);
  kernels.dot(ring.queue(), out[1], a, swapped);
  kernels.mul(ring.queue(), out[2], a[1], b[1]);
}

/// out = (x - ntt(base_convert(removed))) * inverse; out may be x.
void divide(const Ring& ring, LimbView out, ConstLimbView x, ConstLimbView removed, const BaseConversionTable& table,
            const std::vector<Word>& inverse) {
  Scratch scratch(ring, ring.kernels().mod_down_scratch(ring.queue(), out.polys, table));
  ring.kernels().mod_down(ring.queue(), out, x, removed, table, inverse, scratch.words());
}

}  // namespace

/// The tensor product modulo QB, t/B times it on Q.
struct Evaluator::TensorProduct {
  RnsPolys q;     // 3 polys, NTT form
  RnsPolys rest;  // 3 polys over PB, coefficient form; the P limbs are still to be filled
};

Evaluator::Evaluator(const Context& context, Tick tick) : context_(context), shared_(context), tick_(std::move(tick)) {
  require_bfv(context.parameters(), "Evaluator");
}

const ProductTables& Evaluator::tables(Level level) const {
  const LimbList limbs = context_.limbs(level, Basis::kQ);
  {
    const BriefLock lock;
    if (const auto found = tables_.find(limbs); found != tables_.end()) return *found->second;
  }
  auto made = std::make_unique<const ProductTables>(context_, level);  // which takes locks
  const BriefLock lock;
  return *tables_.try_emplace(limbs, std::move(made)).first->second;
}

void Evaluator::require_factors(const Ciphertext& a, const Ciphertext& b) const {
  shared_.require_alike(a, b, "mul");
  for (const Ciphertext* x : {&a, &b}) {
    if (x->degree() == 1 && x->basis == Basis::kQ) continue;
    throw Error(ErrorKind::kShape, "mul: factors must have degree 1 over Q; this one has degree " +
                                       std::to_string(x->degree()) + (x->basis == Basis::kQ ? "" : " over QP") +
                                       ", relinearize or mod_down it first");
  }
}

Evaluator::TensorProduct Evaluator::tensor_product(const Ciphertext& a, const Ciphertext& b,
                                                   const ProductTables& tables) const {
  const Ring& ring = context_.ring();
  const Kernels& kernels = ring.kernels();
  Queue& queue = ring.queue();
  RnsPolys a_b(ring, tables.b, 2), b_b(ring, tables.b, 2), b_q(ring, tables.q, 2);
  {
    RnsPolys coefficients = decompose(ring, a.residues->view());
    kernels.base_convert(queue, a_b.view(), coefficients.view(), tables.extend);
    if (a.residues != b.residues) coefficients = decompose(ring, b.residues->view());
    kernels.base_convert(queue, b_b.view(), coefficients.view(), tables.shrink);
  }
  call(tick_);
  kernels.base_convert(queue, b_q.view(), b_b.view(), tables.back);
  for (RnsPolys* x : {&a_b, &b_b, &b_q}) kernels.ntt(queue, x->view(), x->view());
  call(tick_);

  TensorProduct out{RnsPolys(ring, tables.q, 3), RnsPolys(ring, tables.pb, 3)};
  const std::size_t num_p = tables.pb.size() - tables.b.size();
  const auto rest = [&](std::uint32_t i) { return out.rest.view(i, 1, num_p, tables.b.size()); };
  const auto halves = [](const RnsPolys& x) { return std::array{poly(x, 0), poly(x, 1)}; };
  multiply(ring, {poly(out.q, 0), poly(out.q, 1), poly(out.q, 2)}, halves(*a.residues), halves(b_q));
  multiply(ring, {rest(0), rest(1), rest(2)}, halves(a_b), halves(b_b));
  const LimbView over_b = out.rest.view(0, 3, num_p, tables.b.size());
  kernels.intt(queue, over_b, over_b);
  call(tick_);
  return out;
}

Ciphertext Evaluator::mul(const Ciphertext& a, const Ciphertext& b) const {
  require_factors(a, b);
  const ProductTables& constants = tables(a.level);
  TensorProduct product = tensor_product(a, b, constants);
  divide(context_.ring(), product.q.view(), product.q.view(), product.rest.view(), constants.divide, constants.one);
  Ciphertext result = with_residues(a, std::move(product.q));
  join_label(result, b);
  return result;
}

Ciphertext Evaluator::dot(std::span<const Ciphertext* const> a, std::span<const Ciphertext* const> b) const {
  if (a.empty() || a.size() != b.size()) throw Error(ErrorKind::kValue, "dot: needs pairs of ciphertexts");
  const Ring& ring = context_.ring();
  const ProductTables& constants = tables(a[0]->level);
  const std::size_t num_p = constants.pb.size() - constants.b.size();
  std::optional<TensorProduct> sum;
  Ciphertext result = *a[0];
  for (std::size_t k = 0; k < a.size(); ++k) {
    require_factors(*a[k], *b[k]);
    shared_.require_alike(*a[0], *a[k], "dot");
    TensorProduct product = tensor_product(*a[k], *b[k], constants);
    if (sum) {
      ring.kernels().add(ring.queue(), sum->q.view(), sum->q.view(), product.q.view());
      const LimbView total = sum->rest.view(0, 3, num_p, constants.b.size());
      ring.kernels().add(ring.queue(), total, total, product.rest.view(0, 3, num_p, constants.b.size()));
    } else {
      sum.emplace(std::move(product));
    }
    join_label(result, *a[k]);
    join_label(result, *b[k]);
  }
  divide(ring, sum->q.view(), sum->q.view(), sum->rest.view(), constants.divide, constants.one);
  return with_residues(result, std::move(sum->q));
}

RnsPolys Evaluator::switched(const RnsPolys& product, const SwitchKeys& relin, const ProductTables& tables) const {
  const ConstLimbView last = poly(product, 2);
  const SwitchOperand operand(context_, last, decompose(context_.ring(), last), product.view(0, 2, 0, tables.q.size()),
                              context_.parameters().special(tables.q));
  return std::move(key_switch(context_, operand, relin, tick_)[0]);
}

Ciphertext Evaluator::mul(const Ciphertext& a, const Ciphertext& b, const SwitchKeys& relin) const {
  require_factors(a, b);
  shared_.require_key(a, relin, KeyKind::kRelin, "mul");
  const Ring& ring = context_.ring();
  const ProductTables& constants = tables(a.level);
  TensorProduct product = tensor_product(a, b, constants);
  const LimbView last = poly(product.q, 2);
  divide(ring, last, last, poly(std::as_const(product.rest), 2), constants.divide, constants.one);
  call(tick_);
  RnsPolys sum = switched(product.q, relin, constants);
  call(tick_);

  const std::size_t num_p = sum.limbs().size() - constants.q.size();
  ring.kernels().intt(ring.queue(), product.rest.view(0, 2, 0, num_p), sum.view(0, 2, 0, num_p));
  RnsPolys out(ring, constants.q, 2);
  divide(ring, out.view(), sum.view(0, 2, num_p, constants.q.size()),
         std::as_const(product.rest).view(0, 2, 0, constants.pb.size()), constants.divide_both,
         constants.special_inverse);
  Ciphertext result = with_residues(a, std::move(out));
  join_label(result, b);
  result.key_set = relin.id();
  return result;
}

Ciphertext Evaluator::add_constant(const Ciphertext& x, std::uint64_t addend) const {
  shared_.require_own(x, "add");
  const Ring& ring = context_.ring();
  const LimbList& q = x.residues->limbs();
  // round(Q/t * addend) = (Q * addend - r) / t with r = Q * addend modulo t, centred
  if (!context_.parameters().has_batching()) {
    throw Error(ErrorKind::kShape,
                "add: this plaintext modulus has no slots to add a constant to; encode coefficients");
  }
  const LimbList t{context_.parameters().plain_limb()};
  const Modulus& plain = ring.modulus(t[0]);
  const Word rest = plain.mul(ring.product_mod(q, t)[0], addend);
  std::vector<Word> scalars = ring.inverse_product_mod(t, q);
  const std::vector<Word> negated = ring.residues(-static_cast<I128>(plain.centred(rest)), q);
  for (std::size_t j = 0; j < q.size(); ++j) scalars[j] = ring.modulus(q[j]).mul(scalars[j], negated[j]);
  RnsPolys out(ring, q, x.residues->polys());
  ring.kernels().add_scalar(ring.queue(), poly(out, 0), poly(*x.residues, 0), scalars);
  for (std::uint32_t i = 1; i <= x.degree(); ++i) copy_limbs(ring, out, i, *x.residues, i);
  return with_residues(x, std::move(out));
}

}  // namespace lw::bfv
