// The evaluator, one operation at a time, for experts and tests; and the samplers' known answers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>

#include "bindings/buffers.hpp"
#include "bindings/rlwe_types.hpp"
#include "schemes/ckks/mul.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using PyEvaluator = Owned<Evaluator>;
using PyDigits = Owned<Digits>;

using Unary = Ciphertext (Evaluator::*)(const Ciphertext&) const;
using Binary = Ciphertext (Evaluator::*)(const Ciphertext&, const Ciphertext&) const;
using WithPlain = Ciphertext (Evaluator::*)(const Ciphertext&, const Plaintext&) const;

/// Runs an operation without the GIL and wraps what it returns.
template <typename F>
PyCiphertext run(const PyEvaluator& self, F&& operation) {
  return {self.context, unlocked([&] { return operation(self.value); })};
}

auto unary(Unary op) {
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

PyCiphertext rotate(const PyEvaluator& self, const PyCiphertext& x, std::uint64_t galois_element,
                    const PyEvaluationKeys& keys) {
  const auto key = find_key(*self.context, keys, KeyKind::kGalois, galois_element, x.value.level);
  return run(self, [&](const Evaluator& e) { return e.rotate(x.value, *key); });
}

PyCiphertext relinearize(const PyEvaluator& self, const PyCiphertext& x, const PyEvaluationKeys& keys) {
  const auto key = find_key(*self.context, keys, KeyKind::kRelin, 0, x.value.level);
  return run(self, [&](const Evaluator& e) { return e.relinearize(x.value, *key); });
}

PyCiphertext key_product(const PyEvaluator& self, const PyDigits& digits, std::uint64_t galois_element,
                         const PyEvaluationKeys& keys) {
  const KeyKind kind = galois_element == 0 ? KeyKind::kRelin : KeyKind::kGalois;
  const auto key = find_key(*self.context, keys, kind, galois_element, digits.value.source.level);
  return run(self, [&](const Evaluator& e) { return e.key_product(digits.value, *key); });
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
      "sample_error",
      [](std::size_t size, nb::handle seed, std::uint32_t digit) {
        const Hash bytes = bytes32(seed, "sample_error: seed");
        return sample(sample_error(size, PrivateSeed(bytes), digit));
      },
      "size"_a, "seed"_a, "digit"_a = 0, "The error distribution under a given seed, for known-answer tests.");
}

}  // namespace

std::shared_ptr<const EvaluationKey> find_key(const Context& context, const PyEvaluationKeys& keys, KeyKind kind,
                                              std::uint64_t galois_element, Level level) {
  const KeySpec spec{kind, galois_element, level};
  check_parameters(keys.value->parameters(), context.parameters(), "the key set");
  auto key = keys.value->find(spec, context.parameters());
  if (key == nullptr) {
    throw Error(ErrorKind::kMissingKey,
                "the key set does not hold the " + describe(spec, context.degree()) + " for " + to_string(level));
  }
  return key;
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
      .def("neg", unary(&Evaluator::neg), "x"_a)
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
      .def("rescale", unary(&Evaluator::rescale), "x"_a)
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
            return PyDigits{self.context, unlocked([&] { return self.value.hoist(x.value); })};
          },
          "x"_a)
      .def("key_product", &key_product, "digits"_a, "galois_element"_a, "keys"_a, "galois_element 0: relinearisation.")
      .def("rotate", &rotate, "x"_a, "galois_element"_a, "keys"_a)
      .def("relinearize", &relinearize, "x"_a, "keys"_a);
  bind_samplers(m);
}

}  // namespace lw
