// The evaluator, one operation at a time, for experts and tests; and the samplers' known answers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "bindings/buffers.hpp"
#include "bindings/rlwe_types.hpp"
#include "schemes/ckks/mul.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using PyEvaluator = Owned<Evaluator>;
using PyDigits = Owned<Digits>;

using Unary = Ciphertext (Evaluator::*)(Ciphertext) const;
using UnaryView = Ciphertext (Evaluator::*)(const Ciphertext&) const;
using Binary = Ciphertext (Evaluator::*)(Ciphertext, const Ciphertext&) const;
using WithPlain = Ciphertext (Evaluator::*)(Ciphertext, const Plaintext&) const;

/// Runs an operation without the GIL and wraps what it returns.
template <typename F>
PyCiphertext run(const PyEvaluator& self, F&& operation) {
  return {self.context, run_unlocked([&] { return operation(self.value); })};
}

template <typename Op>
auto unary(Op op) {
  return [op](const PyEvaluator& self, const PyCiphertext& x) {
    return run(self, [&](const Evaluator& e) { return (e.*op)(x.value); });
  };
}
auto binary(Binary op) {
  return [op](const PyEvaluator& self, const PyCiphertext& a, const PyCiphertext& b) {
    return run(self, [&](const Evaluator& e) { return (e.*op)(a.value, b.value); });
  };
}
auto with_plain(WithPlain op) {
  return [op](const PyEvaluator& self, const PyCiphertext& x, const PyPlaintext& p) {
    return run(self, [&](const Evaluator& e) { return (e.*op)(x.value, p.value); });
  };
}

std::shared_ptr<const EvaluationKey> find_one(const Context& context, const PyEvaluationKeys& keys, KeyKind kind,
                                              std::uint64_t galois_element, Level level) {
  const KeySpec spec{kind, galois_element, level};
  context.parameters().require_level(level);
  check_parameters(keys.value->parameters(), context.parameters(), "the key set");
  auto key = keys.value->find(spec, context.parameters());
  if (key == nullptr) {
    throw Error(ErrorKind::kMissingKey,
                "the key set does not hold the " + describe(spec, context.degree()) + " for " + to_string(level));
  }
  return key;
}

/// Galois keys, one per element.
HeldKeys find_keys(const PyEvaluator& self, const PyEvaluationKeys& keys, const std::vector<std::uint64_t>& elements,
                   Level level) {
  std::vector<std::shared_ptr<const EvaluationKey>> found;
  for (const std::uint64_t element : elements) {
    found.push_back(find_one(*self.context, keys, KeyKind::kGalois, element, level));
  }
  return HeldKeys(std::move(found));
}

std::vector<PyCiphertext> wrap(const PyEvaluator& self, std::vector<Ciphertext> values) {
  std::vector<PyCiphertext> results;
  for (Ciphertext& value : values) results.push_back({self.context, std::move(value)});
  return results;
}

std::vector<PyCiphertext> rotate_many(const PyEvaluator& self, const PyCiphertext& x,
                                      const std::vector<std::uint64_t>& elements, const PyEvaluationKeys& keys) {
  const HeldKeys found = find_keys(self, keys, elements, x.value.level);
  return wrap(self, run_unlocked([&] { return self.value.rotate_many(x.value, found); }));
}

using ProductTerm = std::tuple<std::uint32_t, std::uint32_t, PyPlaintext>;

std::vector<PyCiphertext> sums_of_digits(const PyEvaluator& self, const PyDigits& x,
                                         const std::vector<std::uint64_t>& elements, const PyEvaluationKeys& keys,
                                         const std::vector<ProductTerm>& terms, std::size_t num_giants) {
  const HeldKeys found = find_keys(self, keys, elements, x.value.source.level);
  std::vector<std::size_t> all(elements.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<Evaluator::Diagonal> diagonals;
  for (const auto& [baby, giant, plain] : terms) diagonals.push_back({baby, giant, &plain.value});
  return wrap(self, run_unlocked([&] { return self.value.diag_sums(x.value, found, all, diagonals, num_giants); }));
}

/// The inner sums of a linear transform (`sums_of_digits`) of a ciphertext whose digits nothing else needs.
std::vector<PyCiphertext> sums_of_cipher(const PyEvaluator& self, const PyCiphertext& x,
                                         const std::vector<std::uint64_t>& elements, const PyEvaluationKeys& keys,
                                         const std::vector<ProductTerm>& terms, std::size_t num_giants) {
  return sums_of_digits(self, {self.context, Digits{x.value, nullptr}}, elements, keys, terms, num_giants);
}

/// One operation on every pair of two lists.
std::vector<PyCiphertext> for_pairs(const PyEvaluator& self, const std::vector<PyCiphertext>& a,
                                    const std::vector<PyCiphertext>& b,
                                    Ciphertext (*op)(const Evaluator&, const Ciphertext&, const Ciphertext&)) {
  if (a.size() != b.size()) {
    throw Error(ErrorKind::kShape,
                std::to_string(a.size()) + " ciphertexts against " + std::to_string(b.size()) + "; needs as many");
  }
  return wrap(self, run_unlocked([&] {
                std::vector<Ciphertext> results;
                for (std::size_t i = 0; i < a.size(); ++i) results.push_back(op(self.value, a[i].value, b[i].value));
                return results;
              }));
}

std::vector<PyCiphertext> rotate_each(const PyEvaluator& self, const std::vector<PyCiphertext>& x,
                                      std::uint64_t element, const PyEvaluationKeys& keys) {
  std::vector<HeldKeys> held;
  for (const PyCiphertext& one : x)
    held.push_back(find_key(*self.context, keys, KeyKind::kGalois, element, one.value.level));
  return wrap(self, run_unlocked([&] {
                std::vector<Ciphertext> results;
                for (std::size_t i = 0; i < x.size(); ++i) results.push_back(self.value.rotate(x[i].value, held[i]));
                return results;
              }));
}

PyCiphertext to_sparse(const PyEvaluator& self, const PyCiphertext& x, const PyEvaluationKeys& keys) {
  const HeldKeys key = find_key(*self.context, keys, KeyKind::kToSparse, 0, Level{});
  return run(self, [&](const Evaluator& e) { return e.to_sparse(x.value, key); });
}

PyCiphertext mod_raise(const PyEvaluator& self, const PyCiphertext& x, LevelPair level, std::int64_t factor,
                       const PyEvaluationKeys& keys) {
  const HeldKeys key = find_key(*self.context, keys, KeyKind::kToDense, 0, to_level(level));
  return run(self, [&](const Evaluator& e) { return e.mod_raise(x.value, key, to_level(level), factor); });
}

PyCiphertext rotate(const PyEvaluator& self, const PyCiphertext& x, std::uint64_t galois_element,
                    const PyEvaluationKeys& keys) {
  const HeldKeys key = find_key(*self.context, keys, KeyKind::kGalois, galois_element, x.value.level);
  return run(self, [&](const Evaluator& e) { return e.rotate(x.value, key); });
}

PyCiphertext relinearize(const PyEvaluator& self, const PyCiphertext& x, const PyEvaluationKeys& keys,
                         std::optional<LevelPair> level) {
  const HeldKeys key = find_key(*self.context, keys, KeyKind::kRelin, 0, x.value.level);
  const std::optional<Level> to = level ? std::optional(to_level(*level)) : std::nullopt;
  return run(self, [&](const Evaluator& e) { return e.relinearize(x.value, key, to); });
}

PyCiphertext key_product(const PyEvaluator& self, const PyDigits& digits, std::uint64_t galois_element,
                         const PyEvaluationKeys& keys) {
  const KeyKind kind = galois_element == 0 ? KeyKind::kRelin : KeyKind::kGalois;
  const HeldKeys key = find_key(*self.context, keys, kind, galois_element, digits.value.source.level);
  return run(self, [&](const Evaluator& e) { return e.key_product(digits.value, key); });
}

auto sample(const SecretBuffer<std::int64_t>& values) {
  return to_array(std::vector<std::int64_t>(values.begin(), values.end()));
}

void bind_samplers(nb::module_& m) {
  m.def(
      "sample_ternary",
      [](std::size_t size, nb::handle seed) {
        const Hash bytes = bytes32(seed, "sample_ternary: seed");
        return sample(sample_ternary(size, PrivateSeed(bytes), StreamDomain::kSecretKey));
      },
      "size"_a, "seed"_a, "The ternary distribution under a given seed, for known-answer tests.");
  m.def(
      "sample_sparse",
      [](std::size_t size, std::size_t weight, nb::handle seed) {
        if (weight > size) throw Error(ErrorKind::kValue, "sample_sparse: the weight is larger than the size");
        const Hash bytes = bytes32(seed, "sample_sparse: seed");
        return sample(sample_sparse(size, weight, PrivateSeed(bytes)));
      },
      "size"_a, "weight"_a, "seed"_a, "The sparse ternary distribution under a given seed, for known-answer tests.");
  m.def(
      "sample_error",
      [](std::size_t size, nb::handle seed, std::uint32_t digit) {
        const Hash bytes = bytes32(seed, "sample_error: seed");
        return sample(sample_error(size, PrivateSeed(bytes), digit));
      },
      "size"_a, "seed"_a, "digit"_a = 0, "The error distribution under a given seed, for known-answer tests.");
}

}  // namespace

HeldKeys find_key(const Context& context, const PyEvaluationKeys& keys, KeyKind kind, std::uint64_t galois_element,
                  Level level) {
  return HeldKeys({find_one(context, keys, kind, galois_element, level)});
}

void bind_evaluator(nb::module_& m) {
  nb::class_<PyDigits>(m, "Digits", "A ciphertext hoisted: ready for many key products.")
      .def_prop_ro("level", [](const PyDigits& self) { return to_pair(self.value.source.level); })
      .def_prop_ro("num_bytes", [](const PyDigits& self) { return self.value.extended->bytes(); });
  nb::class_<PyEvaluator>(m, "Evaluator", "Operations on ciphertexts, one at a time. Levels are (track, index).")
      .def(
          "__init__",
          [](PyEvaluator* self, std::shared_ptr<const Context> context) {
            new (self) PyEvaluator{context, Evaluator(*context)};
          },
          "context"_a)
      .def("add", binary(&Evaluator::add), "a"_a, "b"_a)
      .def("sub", binary(&Evaluator::sub), "a"_a, "b"_a)
      .def("neg", unary(Unary(&Evaluator::neg)), "x"_a)
      .def("add_plain", with_plain(&Evaluator::add_plain), "x"_a, "plaintext"_a)
      .def("sub_plain", with_plain(&Evaluator::sub_plain), "x"_a, "plaintext"_a)
      .def("mul_plain", with_plain(&Evaluator::mul_plain), "x"_a, "plaintext"_a)
      .def(
          "mul_int",
          [](const PyEvaluator& self, const PyCiphertext& x, std::int64_t factor, std::optional<double> scale) {
            return run(self,
                       [&](const Evaluator& e) { return e.mul_int(x.value, factor, scale.value_or(x.value.scale)); });
          },
          "x"_a, "factor"_a, "scale"_a.none() = nb::none())
      .def(
          "add_int",
          [](const PyEvaluator& self, const PyCiphertext& x, std::int64_t addend) {
            return run(self, [&](const Evaluator& e) { return e.add_int(x.value, addend); });
          },
          "x"_a, "addend"_a)
      .def(
          "mul",
          [](const PyEvaluator& self, const PyCiphertext& a, const PyCiphertext& b) {
            return run(self, [&](const Evaluator& e) { return ckks::mul(e, a.value, b.value); });
          },
          "a"_a, "b"_a)
      .def(
          "square",
          [](const PyEvaluator& self, const PyCiphertext& x) {
            return run(self, [&](const Evaluator& e) { return ckks::square(e, x.value); });
          },
          "x"_a)
      .def("rescale", unary(UnaryView(&Evaluator::rescale)), "x"_a)
      .def(
          "mod_down",
          [](const PyEvaluator& self, const PyCiphertext& x, LevelPair to, double scale) {
            return run(self, [&](const Evaluator& e) { return e.mod_down(x.value, to_level(to), scale); });
          },
          "x"_a, "level"_a, "scale"_a)
      .def(
          "drop_level",
          [](const PyEvaluator& self, const PyCiphertext& x, LevelPair to) {
            return run(self, [&](const Evaluator& e) { return e.drop_level(x.value, to_level(to)); });
          },
          "x"_a, "level"_a)
      .def(
          "relabel",
          [](const PyEvaluator& self, const PyCiphertext& x, LevelPair level, double scale, std::uint32_t slots) {
            return run(self, [&](const Evaluator& e) { return e.relabel(x.value, to_level(level), scale, slots); });
          },
          "x"_a, "level"_a, "scale"_a, "slots"_a)
      .def(
          "trivial",
          [](const PyEvaluator& self, const PyPlaintext& p) {
            return run(self, [&](const Evaluator& e) { return e.trivial(p.value); });
          },
          "plaintext"_a)
      .def(
          "hoist",
          [](const PyEvaluator& self, const PyCiphertext& x) {
            return PyDigits{self.context, run_unlocked([&] { return self.value.hoist(x.value); })};
          },
          "x"_a)
      .def("key_product", &key_product, "digits"_a, "galois_element"_a, "keys"_a, "galois_element 0: relinearisation.")
      .def("rotate", &rotate, "x"_a, "galois_element"_a, "keys"_a)
      .def("relinearize", &relinearize, "x"_a, "keys"_a, "level"_a.none() = nb::none(),
           "level: where to end, by one mod_down for P and the levels between.")
      .def("rotate_many", &rotate_many, "x"_a, "galois_elements"_a, "keys"_a, "On one decomposition.")
      .def("diag_sums", &sums_of_cipher, "x"_a, "galois_elements"_a, "keys"_a, "terms"_a, "num_giants"_a,
           "Sums over QP of plain * baby: baby 0 is x, baby k is rotated by element k - 1. A term is "
           "(baby, giant, plaintext over QP).")
      .def("diag_sums", &sums_of_digits, "x"_a, "galois_elements"_a, "keys"_a, "terms"_a, "num_giants"_a)
      .def("extend", unary(UnaryView(&Evaluator::extend)), "x"_a)
      .def(
          "mul_monomial",
          [](const PyEvaluator& self, const PyCiphertext& x, std::uint64_t exponent) {
            return run(self, [&](const Evaluator& e) { return e.mul_monomial(x.value, exponent); });
          },
          "x"_a, "exponent"_a, "Times X^exponent; X^(N/2) multiplies all slots by i.")
      .def("to_sparse", &to_sparse, "x"_a, "keys"_a)
      .def("mod_raise", &mod_raise, "x"_a, "level"_a, "factor"_a, "keys"_a)
      .def(
          "add_each",
          [](const PyEvaluator& self, const std::vector<PyCiphertext>& a, const std::vector<PyCiphertext>& b) {
            return for_pairs(self, a, b,
                             [](const Evaluator& e, const Ciphertext& x, const Ciphertext& y) { return e.add(x, y); });
          },
          "a"_a, "b"_a)
      .def(
          "mul_each",
          [](const PyEvaluator& self, const std::vector<PyCiphertext>& a, const std::vector<PyCiphertext>& b) {
            return for_pairs(self, a, b, [](const Evaluator& e, const Ciphertext& x, const Ciphertext& y) {
              return ckks::mul(e, x, y);
            });
          },
          "a"_a, "b"_a)
      .def("rotate_each", &rotate_each, "x"_a, "galois_element"_a, "keys"_a);
  bind_samplers(m);
}

}  // namespace lw
