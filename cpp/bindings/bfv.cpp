// BFV in Python: messages, encoding, decryption, and the operations that CKKS does not share.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bindings/rlwe_types.hpp"
#include "schemes/bfv/decryptor.hpp"
#include "schemes/bfv/evaluator.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using SharedContext = std::shared_ptr<const Context>;
using PyMessage = Owned<bfv::Message>;
using PyEncoder = Owned<bfv::Encoder>;
using PyDecryptor = Owned<bfv::Decryptor>;
using PyEvaluator = Owned<std::shared_ptr<const bfv::Evaluator>>;  // holds a lock, so it cannot move

using Residues = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig>;

void check_message(const PyMessage& message, const Context& context, const char* op) {
  const std::string what = std::string(op) + ": the message";
  check_parameters(message.value.parameters, context.parameters(), what);
  if (message.value.residues == nullptr) return;
  check_context(message.value.parameters, *message.value.residues, context.host(), what);
}

PyPlaintext to_plaintext(const PyEncoder& self, const PyMessage& message, LevelPair level, bool is_factor,
                         const std::string& encoding) {
  check_message(message, *self.context, "encode");
  PyPlaintext plain{self.context, run_unlocked([&] {
                      return is_factor ? self.value.factor(message.value, to_level(level))
                                       : self.value.addend(message.value, to_level(level));
                    })};
  plain.value.encoding = to_encoding(encoding);
  return plain;
}

PyCiphertext mul(const PyEvaluator& self, const PyCiphertext& a, const PyCiphertext& b, const PyEvaluationKeys* keys) {
  if (keys == nullptr) return {self.context, run_unlocked([&] { return self.value->mul(a.value, b.value); })};
  const HeldKeys key = find_key(*self.context, *keys, KeyKind::kRelin, 0, a.value.level);
  return {self.context, run_unlocked([&] { return self.value->mul(a.value, b.value, key); })};
}

}  // namespace

void bind_bfv(nb::module_& m) {
  nb::class_<PyMessage>(m, "BfvMessage", "A plaintext polynomial modulo t; belongs to no level.");
  nb::class_<PyEncoder>(m, "BfvEncoder")
      .def(
          "__init__",
          [](PyEncoder* self, SharedContext context) { new (self) PyEncoder{context, bfv::Encoder(*context)}; },
          "context"_a)
      .def(
          "encode",
          [](const PyEncoder& self, const Residues& residues) {
            const std::span<const std::uint64_t> values(residues.data(), residues.size());
            return PyMessage{self.context, run_unlocked([&] { return self.value.encode(values); })};
          },
          "residues"_a, "N residues in [0, t): the first row of slots, then the second.")
      .def(
          "encode_coefficients",
          [](const PyEncoder& self, const Residues& residues) {
            const std::span<const std::uint64_t> values(residues.data(), residues.size());
            return PyMessage{self.context, run_unlocked([&] { return bfv::to_message(*self.context, values); })};
          },
          "residues"_a, "N coefficients in [0, t).")
      .def(
          "coefficients",
          [](const PyEncoder& self, const PyMessage& message) {
            check_message(message, *self.context, "decode");
            return to_array(run_unlocked([&] { return self.value.coefficients(message.value); }));
          },
          "message"_a, "The N coefficients, in [0, t).")
      .def(
          "decode",
          [](const PyEncoder& self, const PyMessage& message) {
            check_message(message, *self.context, "decode");
            return to_array(run_unlocked([&] { return self.value.decode(message.value); }));
          },
          "message"_a)
      .def(
          "addend",
          [](const PyEncoder& self, const PyMessage& x, LevelPair level, std::uint32_t slots,
             const std::string& encoding) {
            PyPlaintext plain = to_plaintext(self, x, level, false, encoding);
            if (slots != 0) plain.value.slots = slots;
            return plain;
          },
          "message"_a, "level"_a, "slots"_a = 0u, "encoding"_a = "slots",
          "To be encrypted, or added to a ciphertext. slots: of a vector that fills both rows, repeated; 0: N/2.")
      .def(
          "factor",
          [](const PyEncoder& self, const PyMessage& x, LevelPair level, const std::string& encoding) {
            return to_plaintext(self, x, level, true, encoding);
          },
          "message"_a, "level"_a, "encoding"_a = "slots", "To multiply a ciphertext by.");
  nb::class_<PyDecryptor>(m, "BfvDecryptor", "For the owner of the key only.")
      .def(
          "__init__",
          [](PyDecryptor* self, SharedContext context, std::shared_ptr<const SecretKey> key, bool is_there) {
            bfv::Decryptor made = run_unlocked([&] { return bfv::Decryptor(*context, std::move(key), is_there); });
            new (self) PyDecryptor{std::move(context), std::move(made)};
          },
          "context"_a, "secret_key"_a, "is_there"_a = false,
          "is_there: the key is uploaded to the device of the context.")
      .def(
          "decrypt",
          [](const PyDecryptor& self, const PyCiphertext& x) {
            return PyMessage{self.context, run_unlocked([&] { return self.value.decrypt(x.value); })};
          },
          "ciphertext"_a)
      .def(
          "noise_budget",
          [](const PyDecryptor& self, const PyCiphertext& x) {
            return run_unlocked([&] { return self.value.noise_budget(x.value); });
          },
          "ciphertext"_a, "Bits left before decryption fails.");
  nb::class_<PyEvaluator>(m, "BfvEvaluator", "What Evaluator does not do for BFV.")
      .def(
          "__init__",
          [](PyEvaluator* self, SharedContext context) {
            new (self) PyEvaluator{context, std::make_shared<const bfv::Evaluator>(*context)};
          },
          "context"_a)
      .def("mul", &mul, "a"_a, "b"_a, "keys"_a.none() = nb::none(), "Relinearised if keys are given, else of degree 2.")
      .def(
          "add_constant",
          [](const PyEvaluator& self, const PyCiphertext& x, std::uint64_t addend) {
            return PyCiphertext{self.context, run_unlocked([&] { return self.value->add_constant(x.value, addend); })};
          },
          "x"_a, "addend"_a, "Adds 0 <= addend < t to every slot.");
}

}  // namespace lw
