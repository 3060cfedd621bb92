// Residues of ciphertexts, plaintexts and keys in Python, out and in: arrays (polys, limbs, N) of canonical residues,
// in NTT or coefficient form. What is made from residues is marked: nobody knows its noise.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/ring_arrays.hpp"
#include "bindings/rlwe_types.hpp"
#include "rlwe/keys.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using SharedContext = std::shared_ptr<const Context>;
using SharedPolys = std::shared_ptr<const RnsPolys>;

/// Polynomials in NTT form, as an array in either form.
Result to_residues(const Context& context, const SharedPolys& polys, bool is_ntt) {
  const Ring& ring = context.host().ring();
  const SharedPolys held = context.on_host(polys);
  return is_ntt ? store(ring, *held) : store(ring, decompose(ring, held->view()));
}

/// An array in either form as polynomials in NTT form on the host.
RnsPolys from_residues(const Context& context, const ResidueArray& array, const LimbList& limbs, bool is_ntt) {
  const Ring& ring = context.host().ring();
  RnsPolys polys = load(ring, array, limbs);
  if (!is_ntt) ring.kernels().ntt(ring.queue(), polys.view(), polys.view());
  return polys;
}

SharedPolys here(const Context& context, RnsPolys polys) {
  return context.here(std::make_shared<const RnsPolys>(std::move(polys)));
}

/// Every second polynomial: the b halves from 0 on, the a halves from 1 on.
RnsPolys half_of(const Ring& ring, const RnsPolys& both, std::uint32_t first) {
  RnsPolys half(ring, both.limbs(), both.polys() / 2);
  for (std::uint32_t i = 0; i < half.polys(); ++i) copy_limbs(ring, half, i, both, 2 * i + first);
  return half;
}

/// Halves of keys side by side: b and a of the first digit, of the second, ...
Result key_residues(const Context& context, const SharedPolys& b, const SharedPolys& a, bool is_ntt) {
  const Ring& ring = context.host().ring();
  const SharedPolys halves[] = {context.on_host(b), context.on_host(a)};
  auto both = std::make_shared<RnsPolys>(ring, b->limbs(), 2 * b->polys());
  for (std::uint32_t i = 0; i < both->polys(); ++i) copy_limbs(ring, *both, i, *halves[i % 2], i / 2);
  return to_residues(context, both, is_ntt);
}

PyCiphertext ciphertext_from(SharedContext context, const ResidueArray& array, bool is_ntt, LevelPair level,
                             double scale, std::uint32_t slots, const std::string& encoding, const nb::bytes& key_set) {
  context->parameters().require_level(to_level(level));
  RnsPolys polys = from_residues(*context, array, context->limbs(to_level(level), Basis::kQ), is_ntt);
  Ciphertext x;
  x.residues = here(*context, std::move(polys));
  x.level = to_level(level);
  x.scale = scale;
  x.slots = slots;
  x.key_set = to_key_set(key_set);
  x.parameters = context->parameters().fingerprint();
  x.encoding = to_encoding(encoding);
  x.is_unproved = true;
  return {std::move(context), std::move(x)};
}

PyPlaintext plaintext_from(SharedContext context, const ResidueArray& array, bool is_ntt, LevelPair level, double scale,
                           std::uint32_t slots, const std::string& encoding) {
  context->parameters().require_level(to_level(level));
  RnsPolys polys = from_residues(*context, array, context->limbs(to_level(level), Basis::kQ), is_ntt);
  Plaintext x;
  x.residues = here(*context, std::move(polys));
  x.level = to_level(level);
  x.scale = scale;
  x.slots = slots;
  x.parameters = context->parameters().fingerprint();
  x.encoding = to_encoding(encoding);
  x.is_unproved = true;
  return {std::move(context), std::move(x)};
}

PyPublicKey public_key_from(SharedContext context, const ResidueArray& array, bool is_ntt, const nb::bytes& key_set) {
  const Ring& ring = context->host().ring();
  const RnsPolys both = from_residues(*context, array, public_key_limbs(context->parameters()), is_ntt);
  PublicKey key{to_key_set(key_set), context->parameters().fingerprint(), {}, nullptr, nullptr, true};
  key.b = std::make_shared<const RnsPolys>(half_of(ring, both, 0));
  key.a = std::make_shared<const RnsPolys>(half_of(ring, both, 1));
  return {std::move(context), std::make_shared<const PublicKey>(std::move(key))};
}

PyEvaluationKeys evaluation_keys_from(SharedContext context, const std::vector<nb::dict>& specs,
                                      const std::vector<ResidueArray>& arrays, bool is_ntt, const nb::bytes& key_set) {
  const Ring& ring = context->host().ring();
  const Parameters& parameters = context->parameters();
  auto keys = std::make_shared<EvaluationKeys>(to_key_set(key_set), parameters.fingerprint());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const KeySpec spec = to_spec(specs[i]);
    check_spec(spec, parameters);
    const KeyShape shape = key_shape(spec, parameters);
    const RnsPolys both = from_residues(*context, arrays.at(i), shape.limbs, is_ntt);
    EvaluationKey key{spec, keys->id(), {}, shape.digit_numbers(), nullptr, nullptr, true};
    key.b = here(*context, half_of(ring, both, 0));
    key.a = here(*context, half_of(ring, both, 1));
    keys->add(std::make_shared<const EvaluationKey>(std::move(key)));
  }
  return {std::move(context), std::move(keys)};
}

/// Limb numbers and digits of a key: what its residues are of.
nb::tuple key_limbs(const Context& context, const nb::dict& dict) {
  const KeySpec spec = to_spec(dict);
  check_spec(spec, context.parameters());
  const KeyShape shape = key_shape(spec, context.parameters());
  return nb::make_tuple(nb::cast(shape.limbs), shape.digits.size());
}

using SmallIntegers = nb::ndarray<const std::int8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::shared_ptr<SecretKey> secret_key_from(const Context& context, const SmallIntegers& values,
                                           const nb::bytes& key_set) {
  require(values.size() == context.degree(), ErrorKind::kShape, "a secret key has N coefficients");
  SecretBuffer<std::int8_t> coefficients(values.size());
  std::copy_n(values.data(), values.size(), coefficients.begin());
  require(can_be_drawn(coefficients.span(), context.parameters()), ErrorKind::kRange,
          "these parameters have no such secret keys");
  return std::make_shared<SecretKey>(std::move(coefficients), to_key_set(key_set), context.parameters().fingerprint());
}

auto secret_coefficients(const SecretKey& key) {
  return to_array(std::vector<std::int8_t>(key.coefficients().begin(), key.coefficients().end()));
}

}  // namespace

void bind_residues(nb::module_& m) {
  m.def(
      "ciphertext_residues",
      [](const PyCiphertext& x, bool is_ntt) { return to_residues(*x.context, x.value.residues, is_ntt); },
      "ciphertext"_a, "is_ntt"_a, "Canonical residues, (parts, limbs, N), in NTT or coefficient form.");
  m.def(
      "plaintext_residues",
      [](const PyPlaintext& x, bool is_ntt) { return to_residues(*x.context, x.value.residues, is_ntt); },
      "plaintext"_a, "is_ntt"_a, "(1, limbs, N)");
  m.def(
      "public_key_residues",
      [](const PyPublicKey& key, bool is_ntt) {
        return key_residues(key.context->host(), key.value->b, key.value->a, is_ntt);
      },
      "key"_a, "is_ntt"_a, "b and a, (2, limbs, N)");
  m.def(
      "evaluation_key_residues",
      [](const PyEvaluationKeys& keys, std::size_t i, bool is_ntt) {
        const EvaluationKey& key = *keys.value->keys().at(i);
        return key_residues(*keys.context, key.b, key.a, is_ntt);
      },
      "keys"_a, "i"_a, "is_ntt"_a, "b and a of each digit of key i, (2 * digits, limbs, N)");
  m.def("key_limbs", &key_limbs, "context"_a, "spec"_a, "Limb numbers of an evaluation key, and its number of digits.");
  m.def("ciphertext_from_residues", &ciphertext_from, "context"_a, "residues"_a, "is_ntt"_a, "level"_a, "scale"_a,
        "slots"_a, "encoding"_a, "key_set"_a, "Marked as unproved, as all that is made from residues.");
  m.def("plaintext_from_residues", &plaintext_from, "context"_a, "residues"_a, "is_ntt"_a, "level"_a, "scale"_a,
        "slots"_a, "encoding"_a);
  m.def("public_key_from_residues", &public_key_from, "context"_a, "residues"_a, "is_ntt"_a, "key_set"_a);
  m.def("evaluation_keys_from_residues", &evaluation_keys_from, "context"_a, "specs"_a, "residues"_a, "is_ntt"_a,
        "key_set"_a);
  m.def(
      "transformed",
      [](const Context& context, const ResidueArray& array, const LimbList& limbs, bool is_ntt) {
        const Ring& ring = context.host().ring();
        check_limbs(ring, limbs);
        const RnsPolys polys = from_residues(context, array, limbs, !is_ntt);
        if (is_ntt) return store(ring, polys);
        return store(ring, decompose(ring, polys.view()));
      },
      "context"_a, "residues"_a, "limbs"_a, "is_ntt"_a,
      "Residues of limbs brought from coefficient form to NTT form, or back unless is_ntt.");
  m.def("secret_coefficients", &secret_coefficients, "key"_a, "SECRET: the N coefficients, in ordinary memory.");
  m.def("secret_key_from_coefficients", &secret_key_from, "context"_a, "coefficients"_a, "key_set"_a);
}

}  // namespace lw
