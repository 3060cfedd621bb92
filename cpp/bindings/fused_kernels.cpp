// The fused kernels on NumPy arrays: values in NTT form; tables, digits and scratch are made here.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "bindings/ring_arrays.hpp"

namespace lw {
namespace {

using namespace nb::literals;

using KeyArrays = std::tuple<ResidueArray, ResidueArray, LimbList, std::vector<std::uint32_t>, std::uint64_t>;
using TermArrays = std::tuple<std::uint32_t, std::uint32_t, ResidueArray>;

ConstRows cut(const PolyRows& rows, std::size_t first, std::span<const std::uint16_t> limbs) {
  const ConstRows all = rows.rows();
  return {all.row(0, first), all.stride, all.poly_stride, limbs, 1};
}

/// A polynomial over Q limbs, cut into digits for a key switch to P and Q limbs.
class SwitchArrays {
 public:
  /// extended: digits are given on all target limbs instead of being lifted by the kernel.
  SwitchArrays(const Ring& ring, const ResidueArray& x, const std::optional<ResidueArray>& rest,
               const std::vector<LimbList>& digits, const LimbList& p, const LimbList& q, bool extended)
      : ring_(ring), digit_limbs_(digits), limbs_(p), ntt_(load(ring, x, q)), coefficients_(load(ring, x, q)) {
    LimbList joined;
    for (const LimbList& digit : digits) joined.insert(joined.end(), digit.begin(), digit.end());
    require(joined == q, ErrorKind::kShape, "digits must list the Q limbs once, in order");
    limbs_.insert(limbs_.end(), q.begin(), q.end());
    check_limbs(ring, limbs_);
    ring.kernels().intt(ring.queue(), coefficients_.rows());
    special_product_ = ring.product_mod(p, q);
    if (rest) rest_rows_ = load(ring, *rest, q);
    if (rest) rest_view_.emplace(std::as_const(rest_rows_).rows());
    cut_digits();
    if (extended) extend_digits();
  }

  SwitchSource view() const noexcept {
    return {limbs_, limbs_.size() - ntt_.limbs().size(), digits_, rest_view_ ? &*rest_view_ : nullptr,
            special_product_};
  }
  const LimbList& limbs() const noexcept { return limbs_; }

 private:
  void cut_digits() {
    std::size_t first = 0;
    for (const LimbList& digit : digit_limbs_) {
      LimbList rest;
      for (const std::uint16_t limb : limbs_) {
        if (std::find(digit.begin(), digit.end(), limb) == digit.end()) rest.push_back(limb);
      }
      digits_.push_back({cut(coefficients_, first, digit), cut(ntt_, first, digit), &ring_.lift_table(digit, rest)});
      first += digit.size();
    }
  }
  void extend_digits() {
    for (DigitRows& digit : digits_) {
      PolyRows& all = extended_.emplace_back(ring_, limbs_, 1);
      ring_.kernels().lift(ring_.queue(), all.rows(), digit.coefficients, ring_.lift_table(digit.ntt.limbs, limbs_));
      ring_.kernels().ntt(ring_.queue(), all.rows());
      const ConstRows view = std::as_const(all).rows();
      digit = {view, view, nullptr};
    }
  }

  const Ring& ring_;
  std::vector<LimbList> digit_limbs_;
  LimbList limbs_;
  PolyRows ntt_, coefficients_, rest_rows_;
  std::optional<ConstRows> rest_view_;
  std::vector<Word> special_product_;
  std::vector<DigitRows> digits_;
  std::vector<PolyRows> extended_;
};

/// Keys that may hold more limbs and digits than are wanted, in another order.
class Keys {
 public:
  Keys(const Ring& ring, const std::vector<KeyArrays>& keys, const LimbList& wanted, std::size_t digits) {
    limb_rows_.reserve(keys.size());
    for (const auto& [b, a, limbs, digit_poly, galois_element] : keys) {
      require(digit_poly.size() == digits, ErrorKind::kShape, "a key needs one poly number per digit");
      std::vector<std::uint32_t>& rows = limb_rows_.emplace_back();
      for (const std::uint16_t limb : wanted) {
        const auto place = std::find(limbs.begin(), limbs.end(), limb);
        require(place != limbs.end(), ErrorKind::kShape, "a key lacks a target limb");
        rows.push_back(static_cast<std::uint32_t>(place - limbs.begin()));
      }
      halves_.push_back(load(ring, b, limbs));
      halves_.push_back(load(ring, a, limbs));
    }
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const auto& [b, a, limbs, digit_poly, galois_element] = keys[k];
      views_.push_back({std::as_const(halves_[2 * k]).rows(), std::as_const(halves_[2 * k + 1]).rows(), digit_poly,
                        limb_rows_[k], galois_element});
    }
  }
  std::span<const KeyRows> view() const noexcept { return views_; }

 private:
  std::vector<std::vector<std::uint32_t>> limb_rows_;
  std::vector<PolyRows> halves_;
  std::vector<KeyRows> views_;
};

/// Results of two polys each.
class ResultPairs {
 public:
  ResultPairs(const Ring& ring, const LimbList& limbs, std::size_t count) : ring_(ring) {
    for (std::size_t i = 0; i < count; ++i) owners_.emplace_back(ring, limbs, 2);
    for (PolyRows& owner : owners_) views_.push_back(owner.rows());
  }
  std::span<const Rows> view() const noexcept { return views_; }
  std::vector<Result> arrays() const {
    std::vector<Result> results;
    for (const PolyRows& owner : owners_) results.push_back(store(ring_, owner));
    return results;
  }

 private:
  const Ring& ring_;
  std::vector<PolyRows> owners_;
  std::vector<Rows> views_;
};

std::vector<Result> run_key_switch(const Ring& ring, const ResidueArray& x, const std::optional<ResidueArray>& rest,
                                   const std::vector<LimbList>& digits, const LimbList& p, const LimbList& q,
                                   const std::vector<KeyArrays>& keys, bool extended) {
  const SwitchArrays source(ring, x, rest, digits, p, q, extended);
  const Keys held(ring, keys, source.limbs(), digits.size());
  const ResultPairs out(ring, source.limbs(), keys.size());
  const Scratch scratch(ring, ring.kernels().key_switch_scratch(ring.queue(), source.view(), keys.size()));
  {
    const nb::gil_scoped_release release;
    ring.kernels().key_switch(ring.queue(), out.view(), source.view(), held.view(), scratch.words());
  }
  return out.arrays();
}

std::vector<Result> run_diag_sums(const Ring& ring, const ResidueArray& self, const std::vector<LimbList>& digits,
                                  const LimbList& p, const LimbList& q, const std::vector<KeyArrays>& keys,
                                  const std::vector<TermArrays>& terms, std::size_t num_giants, bool extended) {
  const PolyRows both = load(ring, self, q);
  require(both.polys() == 2, ErrorKind::kShape, "diag_sums: self needs two polys");
  const Result halves = store(ring, both);
  const ResidueArray c0(halves.data(), {1, q.size(), ring.degree()}),
      c1(halves.data() + q.size() * ring.degree(), {1, q.size(), ring.degree()});
  const SwitchArrays source(ring, c1, c0, digits, p, q, extended);
  const Keys held(ring, keys, source.limbs(), digits.size());
  const ResultPairs out(ring, source.limbs(), num_giants);
  std::vector<PolyRows> plains;
  for (const auto& [baby, giant, plain] : terms) {
    require(baby <= keys.size() && giant < num_giants, ErrorKind::kValue, "diag_sums: there is no such baby or giant");
    plains.push_back(load(ring, plain, source.limbs()));
  }
  std::vector<DiagonalTerm> views;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    views.push_back({std::get<0>(terms[t]), std::get<1>(terms[t]), std::as_const(plains[t]).rows()});
  }
  const Scratch scratch(ring, ring.kernels().diag_sums_scratch(ring.queue(), source.view(), keys.size(), num_giants));
  {
    const nb::gil_scoped_release release;
    ring.kernels().diag_sums(ring.queue(), out.view(), source.view(), both.rows(), held.view(), views, scratch.words());
  }
  return out.arrays();
}

Result run_mod_down(const Ring& ring, const ResidueArray& x, const ResidueArray& removed,
                    const std::vector<Word>& inverse, const LimbList& from, const LimbList& to) {
  PolyRows value = load(ring, x, to);
  const PolyRows rest = load(ring, removed, from);
  require(rest.polys() == value.polys() && inverse.size() == to.size(), ErrorKind::kShape,
          "mod_down: operands have different polys, or the inverse not one number a limb");
  const LiftTable& table = ring.lift_table(from, to);
  const Scratch scratch(ring, ring.kernels().mod_down_scratch(ring.queue(), value.polys(), table));
  {
    const nb::gil_scoped_release release;
    ring.kernels().mod_down(ring.queue(), value.rows(), std::as_const(value).rows(), rest.rows(), table, inverse,
                            scratch.words());
  }
  return store(ring, value);
}

}  // namespace

void bind_fused_kernels(nb::class_<Ring>& ring) {
  ring.def_prop_ro("threads", [](const Ring& self) { return self.backend().threads(); })
      .def("key_switch", &run_key_switch, "x"_a, "rest"_a.none(), "digits"_a, "p_limbs"_a, "q_limbs"_a, "keys"_a,
           "extended"_a = false, "A key is (b, a, limbs, digit_poly, galois_element).")
      .def("diag_sums", &run_diag_sums, "operand"_a, "digits"_a, "p_limbs"_a, "q_limbs"_a, "keys"_a, "terms"_a,
           "num_giants"_a, "extended"_a = false, "A term is (baby, giant, plain).")
      .def("mod_down", &run_mod_down, "x"_a, "removed"_a, "inverse"_a, "from_limbs"_a, "to_limbs"_a,
           "x in NTT form, removed in coefficient form.");
}

}  // namespace lw
