// The fused kernels on NumPy arrays: values in NTT form; tables, digits and scratch are made here.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <tuple>
#include <variant>

#include "bindings/ring_arrays.hpp"
#include "ring/integers.hpp"

namespace lw {
namespace {

using namespace nb::literals;

using KeyArrays = std::tuple<ResidueArray, ResidueArray, LimbList, std::vector<std::uint32_t>, std::uint64_t>;
using CoefficientArray = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using TermArrays = std::tuple<std::uint32_t, std::uint32_t, std::variant<ResidueArray, CoefficientArray>>;

ConstLimbView cut(const RnsPolys& polys, std::size_t first, std::span<const std::uint16_t> limbs) {
  const ConstLimbView all = polys.view();
  return {all.limb(0, first), all.stride, all.poly_stride, limbs, 1};
}

/// A polynomial over Q limbs, cut into digits for a key switch to P and Q limbs.
class SwitchArrays {
 public:
  /// rest: over the Q limbs or over all. extended: digits are given on all target limbs instead of being extended by
  /// the kernel.
  SwitchArrays(const Ring& ring, const ResidueArray& x, const std::optional<ResidueArray>& rest,
               const std::vector<LimbList>& digits, const LimbList& p, const LimbList& q, bool extended)
      : ring_(ring), digit_limbs_(digits), limbs_(p), ntt_(load(ring, x, q)), coefficients_(load(ring, x, q)) {
    LimbList joined;
    for (const LimbList& digit : digits) joined.insert(joined.end(), digit.begin(), digit.end());
    require(joined == q, ErrorKind::kShape, "digits must list the Q limbs once, in order");
    limbs_.insert(limbs_.end(), q.begin(), q.end());
    check_limbs(ring, limbs_);
    ring.kernels().intt(ring.queue(), coefficients_.view(), coefficients_.view());
    special_product_ = ring.product_mod(p, q);
    if (rest) rest_limbs_ = load(ring, *rest, rest->shape(1) == limbs_.size() ? limbs_ : q);
    if (rest) rest_view_.emplace(std::as_const(rest_limbs_).view());
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
      digits_.push_back(
          {cut(coefficients_, first, digit), cut(ntt_, first, digit), &ring_.base_conversion_table(digit, rest)});
      first += digit.size();
    }
  }
  void extend_digits() {
    for (DigitLimbs& digit : digits_) {
      RnsPolys& all = extended_.emplace_back(ring_, limbs_, 1);
      ring_.kernels().base_convert(ring_.queue(), all.view(), digit.coefficients,
                                   ring_.base_conversion_table(digit.ntt.limbs, limbs_));
      ring_.kernels().ntt(ring_.queue(), all.view(), all.view());
      const ConstLimbView view = std::as_const(all).view();
      digit = {view, view, nullptr};
    }
  }

  const Ring& ring_;
  std::vector<LimbList> digit_limbs_;
  LimbList limbs_;
  RnsPolys ntt_, coefficients_, rest_limbs_;
  std::optional<ConstLimbView> rest_view_;
  std::vector<Word> special_product_;
  std::vector<DigitLimbs> digits_;
  std::vector<RnsPolys> extended_;
};

/// Keys that may hold more limbs and digits than are wanted, in another order.
class Keys {
 public:
  Keys(const Ring& ring, const std::vector<KeyArrays>& keys, const LimbList& wanted, std::size_t digits) {
    for (const auto& [b, a, limbs, digit_poly, galois_element] : keys) {
      require(digit_poly.size() == digits, ErrorKind::kShape, "a key needs one poly number per digit");
      Key& key = keys_.emplace_back();
      for (const std::uint16_t limb : wanted) {
        const auto place = std::find(limbs.begin(), limbs.end(), limb);
        require(place != limbs.end(), ErrorKind::kShape, "a key lacks a target limb");
        key.places.push_back(static_cast<std::size_t>(place - limbs.begin()));
      }
      key.b = load(ring, b, limbs);
      key.a = load(ring, a, limbs);
      key.polys = digit_poly;
      key.galois_element = galois_element;
    }
  }

  /// The limbs of a window, until the next call.
  std::span<const KeyLimbs> view(LimbWindow window) {
    views_.clear();
    for (Key& key : keys_) {
      key.pointers = {pointers(key, key.b, window), pointers(key, key.a, window)};
      views_.push_back({key.pointers[0], key.pointers[1], key.galois_element});
    }
    return views_;
  }

 private:
  struct Key {
    RnsPolys b, a;
    std::vector<std::size_t> places;
    std::vector<std::uint32_t> polys;
    std::uint64_t galois_element;
    std::array<std::vector<const Word*>, 2> pointers;
  };

  static std::vector<const Word*> pointers(const Key& key, const RnsPolys& half, LimbWindow window) {
    std::vector<const Word*> found;
    for (const std::uint32_t poly : key.polys) {
      for (std::size_t i = 0; i < window.count; ++i)
        found.push_back(half.view().limb(poly, key.places[window.first + i]));
    }
    return found;
  }

  std::vector<Key> keys_;
  std::vector<KeyLimbs> views_;
};

/// body(window) for windows of at most `size` limbs; 0: of all.
template <class Body>
void for_each_window(std::size_t count, std::size_t size, const Body& body) {
  if (size == 0) size = count;
  for (std::size_t first = 0; first < count; first += size) body(LimbWindow{first, std::min(size, count - first)});
}

/// The results of a key switch: arrays of two polys each.
class ResultPairs {
 public:
  ResultPairs(const Ring& ring, const LimbList& limbs, std::size_t count) : ring_(ring) {
    for (std::size_t i = 0; i < count; ++i) owners_.emplace_back(ring, limbs, 2);
    for (RnsPolys& owner : owners_) views_.push_back(owner.view());
  }
  std::span<const LimbView> view() const noexcept { return views_; }
  std::vector<Result> arrays() const {
    std::vector<Result> results;
    for (const RnsPolys& owner : owners_) results.push_back(store(ring_, owner));
    return results;
  }

 private:
  const Ring& ring_;
  std::vector<RnsPolys> owners_;
  std::vector<LimbView> views_;
};

std::vector<Result> run_key_switch(const Ring& ring, const ResidueArray& x, const std::optional<ResidueArray>& rest,
                                   const std::vector<LimbList>& digits, const LimbList& p, const LimbList& q,
                                   const std::vector<KeyArrays>& keys, bool extended, std::size_t window) {
  const SwitchArrays source(ring, x, rest, digits, p, q, extended);
  Keys held(ring, keys, source.limbs(), digits.size());
  const ResultPairs out(ring, source.limbs(), keys.size());
  Scratch scratch(ring, ring.kernels().key_switch_scratch(ring.queue(), source.view(), keys.size()));
  {
    const nb::gil_scoped_release release;
    for_each_window(source.limbs().size(), window, [&](LimbWindow limbs) {
      ring.kernels().key_switch(ring.queue(), out.view(), source.view(), limbs, held.view(limbs), scratch.words());
    });
  }
  return out.arrays();
}

std::vector<Result> run_diag_sums(const Ring& ring, const ResidueArray& self, const std::vector<LimbList>& digits,
                                  const LimbList& p, const LimbList& q, const std::vector<KeyArrays>& keys,
                                  const std::vector<TermArrays>& terms, std::size_t num_giants, bool extended,
                                  std::size_t window) {
  const RnsPolys both = load(ring, self, q);
  require(both.polys() == 2, ErrorKind::kShape, "diag_sums: self needs two polys");
  const Result halves = store(ring, both);
  const ResidueArray c0(halves.data(), {1, q.size(), ring.degree()}),
      c1(halves.data() + q.size() * ring.degree(), {1, q.size(), ring.degree()});
  const SwitchArrays source(ring, c1, c0, digits, p, q, extended);
  Keys held(ring, keys, source.limbs(), digits.size());
  const ResultPairs out(ring, source.limbs(), num_giants);
  std::deque<RnsPolys> plains;
  std::deque<Integers> integers;
  std::vector<DiagonalTerm> views;
  for (const auto& [baby, giant, plain] : terms) {
    require(baby <= keys.size() && giant < num_giants, ErrorKind::kValue, "diag_sums: there is no such baby or giant");
    DiagonalTerm& term = views.emplace_back(baby, giant);
    if (const ResidueArray* residues = std::get_if<ResidueArray>(&plain)) {
      term.plain = std::as_const(plains.emplace_back(load(ring, *residues, source.limbs()))).view();
    } else {
      const CoefficientArray& values = std::get<CoefficientArray>(plain);
      require(ring.backend().form().is_on_host(), ErrorKind::kValue, "diag_sums: coefficients are for the host");
      term.integers = integers.emplace_back(ring, std::span(values.data(), values.size())).view();
    }
  }
  Scratch scratch(
      ring, ring.kernels().diag_sums_scratch(ring.queue(), source.view(), keys.size(), num_giants, !integers.empty()));
  {
    const nb::gil_scoped_release release;
    for_each_window(source.limbs().size(), window, [&](LimbWindow limbs) {
      ring.kernels().diag_sums(ring.queue(), out.view(), source.view(), limbs, both.view(), held.view(limbs), views,
                               scratch.words());
    });
  }
  return out.arrays();
}

Result run_mod_down(const Ring& ring, const ResidueArray& x, const ResidueArray& removed,
                    const std::vector<Word>& inverse, const LimbList& from, const LimbList& to) {
  RnsPolys value = load(ring, x, to);
  const RnsPolys rest = load(ring, removed, from);
  require(rest.polys() == value.polys() && inverse.size() == to.size(), ErrorKind::kShape,
          "mod_down: operands have different polys, or the inverse not one number a limb");
  const BaseConversionTable& table = ring.base_conversion_table(from, to);
  Scratch scratch(ring, ring.kernels().mod_down_scratch(ring.queue(), value.polys(), table));
  {
    const nb::gil_scoped_release release;
    ring.kernels().mod_down(ring.queue(), value.view(), std::as_const(value).view(), rest.view(), table, inverse,
                            scratch.words());
  }
  return store(ring, value);
}

void bind_key_switch(nb::class_<Ring>& ring) {
  ring.def("key_switch", &run_key_switch, "x"_a, "rest"_a.none(), "digits"_a, "p_limbs"_a, "q_limbs"_a, "keys"_a,
           "extended"_a = false, "window"_a = 0,
           "A key is (b, a, limbs, digit_poly, galois_element); window: target limbs a call of the kernel, 0: all.");
}
void bind_diag_sums(nb::class_<Ring>& ring) {
  ring.def("diag_sums", &run_diag_sums, "operand"_a, "digits"_a, "p_limbs"_a, "q_limbs"_a, "keys"_a, "terms"_a,
           "num_giants"_a, "extended"_a = false, "window"_a = 0,
           "A term is (baby, giant, plain), plain residues or, on a host, coefficients.");
}
void bind_mod_down(nb::class_<Ring>& ring) {
  ring.def("mod_down", &run_mod_down, "x"_a, "removed"_a, "inverse"_a, "from_limbs"_a, "to_limbs"_a,
           "x in NTT form, removed in coefficient form.");
}

}  // namespace

void bind_fused_kernels(nb::class_<Ring>& ring) {
  ring.def_prop_ro("threads", [](const Ring& self) { return self.backend().threads(); });
#define LW_SCRATCH(kernel, parameters)
#define LW_SWITCH(result, name, parameters) bind_##name(ring);
#include "backend/kernels.def"
}

}  // namespace lw
