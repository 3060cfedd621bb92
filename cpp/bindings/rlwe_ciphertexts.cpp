// Plaintexts, ciphertexts, encoding, encryption and ciphertext files in Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "backend/operation_scope.hpp"
#include "bindings/buffers.hpp"
#include "bindings/cbor_objects.hpp"
#include "bindings/rlwe_types.hpp"
#include "rlwe/ciphertext_files.hpp"
#include "rlwe/decryptor.hpp"
#include "rlwe/encryptor.hpp"
#include "schemes/ckks/encoder.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using SharedContext = std::shared_ptr<const Context>;
using PyEncoder = Owned<ckks::Encoder>;
using PyEncryptor = Owned<Encryptor>;
using PyDecryptor = Owned<Decryptor>;

PyPlaintext encode(const PyEncoder& self, nb::handle values, LevelPair level, double scale, const std::string& basis) {
  const std::vector<std::complex<double>> slots = to_complex(values);
  const Basis over = to_basis(basis);
  return {self.context, run_unlocked([&] { return self.value.encode(slots, to_level(level), scale, over); })};
}

auto decrypt(const PyDecryptor& self, const PyCiphertext& x) {
  if (x.value.encoding != Encoding::kSlots)
    throw Error(ErrorKind::kShape, "decrypt: the ciphertext holds coefficients, not slots");
  return to_array(run_unlocked([&] {
    const ckks::Encoder encoder(*self.context);
    return encoder.decode(self.value.decrypt(x.value).span(), x.value.scale, x.value.slots);
  }));
}

std::string describe_value(const char* name, Level level, double scale, std::uint32_t slots) {
  return std::string(name) + "(track=" + std::to_string(level.track) + ", level=" + std::to_string(level.index) +
         ", log2_scale=" + std::to_string(std::log2(scale)) + ", slots=" + std::to_string(slots);
}

/// A value of one context in the memory of another with the same parameters.
template <class T>
Owned<T> move_value(const Owned<T>& x, const SharedContext& to, bool keeps_copy) {
  check_context(x.value.parameters, *x.value.residues, *x.context, "move: the value");
  check_parameters(x.value.parameters, to->parameters(), "move: the value");
  const OperationScope scope(OperationKind::kCall, "move");
  return {to, run_unlocked([&] {
            T value = x.value;
            value.residues = move_to_context(*x.context, std::move(value.residues), *to, keeps_copy);
            return value;
          })};
}

/// The context from whose memory ciphertexts are written: the one that all of them are in, or else the host's.
const Context& one_memory(const std::vector<PyCiphertext>& ciphertexts) {
  const Context& first = *ciphertexts[0].context;
  const bool is_one = std::ranges::all_of(
      ciphertexts, [&](const PyCiphertext& x) { return x.value.residues->form() == first.ring().backend().form(); });
  return is_one ? first : first.host();
}

nb::object write_ciphertexts(nb::handle path, const std::vector<PyCiphertext>& ciphertexts,
                             const std::vector<std::string>& names, const nb::dict& extras) {
  if (ciphertexts.empty() || ciphertexts.size() != names.size()) {
    throw Error(ErrorKind::kValue, "save_ciphertexts: " + std::to_string(ciphertexts.size()) + " ciphertexts and " +
                                       std::to_string(names.size()) + " names; needs as many, and at least one");
  }
  CiphertextFile file{{}, map_from_python(extras)};
  const std::optional<std::string> to = optional_path(path);
  const std::vector<std::uint8_t> bytes = run_unlocked([&] {
    const Context& context = one_memory(ciphertexts);
    for (std::size_t i = 0; i < names.size(); ++i) {
      NamedCiphertext& item = file.ciphertexts.emplace_back(NamedCiphertext{names[i], ciphertexts[i].value});
      item.value.residues = move_to_context(*ciphertexts[i].context, std::move(item.value.residues), context);
    }
    return save_ciphertexts(to, file, context);
  });
  return saved(to, bytes);
}

nb::tuple read_ciphertexts(nb::handle from, SharedContext context) {
  const SourceView view(from);
  const CiphertextFile file = run_unlocked([&] { return load_ciphertexts(view.source, *context); });
  nb::list ciphertexts, names;
  for (const NamedCiphertext& item : file.ciphertexts) {
    ciphertexts.append(PyCiphertext{context, item.value});
    names.append(item.name);
  }
  return nb::make_tuple(ciphertexts, names, to_python(file.extras));
}

void bind_values(nb::module_& m) {
  nb::class_<PyPlaintext>(m, "Plaintext")
      .def_prop_ro("level", [](const PyPlaintext& self) { return to_pair(self.value.level); })
      .def_prop_ro("scale", [](const PyPlaintext& self) { return self.value.scale; })
      .def_prop_ro("slots", [](const PyPlaintext& self) { return self.value.slots; })
      .def_prop_ro("basis", [](const PyPlaintext& self) { return basis_name(self.value.basis); })
      .def_prop_ro("encoding", [](const PyPlaintext& self) { return encoding_name(self.value.encoding); })
      .def_prop_ro("is_unproved", [](const PyPlaintext& self) { return self.value.is_unproved; })
      .def_prop_ro("num_bytes", [](const PyPlaintext& self) { return self.value.num_bytes(); });
  nb::class_<PyCiphertext>(m, "Ciphertext", "An encrypted slot vector; immutable.")
      .def_prop_ro(
          "level", [](const PyCiphertext& self) { return to_pair(self.value.level); }, "(track, index)")
      .def_prop_ro("scale", [](const PyCiphertext& self) { return self.value.scale; })
      .def_prop_ro("slots", [](const PyCiphertext& self) { return self.value.slots; })
      .def_prop_ro("degree", [](const PyCiphertext& self) { return self.value.degree(); })
      .def_prop_ro("basis", [](const PyCiphertext& self) { return basis_name(self.value.basis); })
      .def_prop_ro("num_bytes", [](const PyCiphertext& self) { return self.value.num_bytes(); })
      .def_prop_ro("key_set", [](const PyCiphertext& self) { return to_bytes(self.value.key_set); })
      .def_prop_ro(
          "parameters", [](const PyCiphertext& self) { return to_bytes(self.value.parameters); },
          "Fingerprint of the parameters.")
      .def_prop_ro("is_seeded", [](const PyCiphertext& self) { return self.value.seed.has_value(); })
      .def_prop_ro("encoding", [](const PyCiphertext& self) { return encoding_name(self.value.encoding); })
      .def_prop_ro("is_unproved", [](const PyCiphertext& self) { return self.value.is_unproved; })
      .def(
          "mark_unproved",
          [](const PyCiphertext& self) {
            PyCiphertext marked = self;
            marked.value.is_unproved = true;
            return marked;
          },
          "The same ciphertext, of whose noise nothing is known.")
      .def_prop_ro(
          "context", [](const PyCiphertext& self) { return self.context; }, "In whose memory it is.")
      .def("__repr__", [](const PyCiphertext& self) {
        const Ciphertext& x = self.value;
        return describe_value("Ciphertext", x.level, x.scale, x.slots) + ", degree=" + std::to_string(x.degree()) +
               ", basis=" + basis_name(x.basis) + ")";
      });
}

}  // namespace

void bind_ciphertexts(nb::module_& m) {
  bind_values(m);
  nb::class_<PyEncoder>(m, "Encoder")
      .def(
          "__init__",
          [](PyEncoder* self, SharedContext context) { new (self) PyEncoder{context, ckks::Encoder(*context)}; },
          "context"_a)
      .def("encode", &encode, "values"_a, "level"_a, "scale"_a, "basis"_a = "Q",
           "Real or complex values, a power of two of them, at level (track, index).")
      .def(
          "encode_coefficients",
          [](const PyEncoder& self, const nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig>& coefficients,
             LevelPair level, double scale) {
            const Context& context = *self.context;
            context.parameters().require_level(to_level(level));
            if (coefficients.size() != context.degree())
              throw Error(ErrorKind::kShape, "encode: a polynomial has N coefficients");
            Plaintext plain = lift_integers(context.host(), {coefficients.data(), coefficients.size()}, to_level(level),
                                            scale, Basis::kQ);
            plain.residues = context.here(std::move(plain.residues));
            plain.encoding = Encoding::kCoefficients;
            return PyPlaintext{self.context, std::move(plain)};
          },
          "coefficients"_a, "level"_a, "scale"_a, "N whole numbers below 2^62, which are the values times the scale.")
      .def(
          "decode",
          [](const PyEncoder& self, nb::ndarray<const double, nb::ndim<1>, nb::c_contig> coefficients, double scale,
             std::uint32_t slots) {
            return to_array(self.value.decode({coefficients.data(), coefficients.size()}, scale, slots));
          },
          "coefficients"_a, "scale"_a, "slots"_a);
  nb::class_<PyEncryptor>(m, "Encryptor", "With a SecretKey: seeded symmetric; with a PublicKey: anyone can.")
      .def(
          "__init__",
          [](PyEncryptor* self, SharedContext context, std::shared_ptr<const SecretKey> key, nb::handle seed) {
            SeedSource seeds = to_seed_source(seed, *context, "Encryptor");
            new (self) PyEncryptor{context, Encryptor(*context, std::move(key), std::move(seeds))};
          },
          "context"_a, "key"_a, "insecure_seed"_a.none() = nb::none(), "insecure_seed: 32 bytes, for tests.")
      .def(
          "__init__",
          [](PyEncryptor* self, SharedContext context, const PyPublicKey& key, nb::handle seed) {
            SeedSource seeds = to_seed_source(seed, *context, "Encryptor");
            new (self) PyEncryptor{context, Encryptor(*context, key.value, std::move(seeds))};
          },
          "context"_a, "key"_a, "insecure_seed"_a.none() = nb::none())
      .def(
          "encrypt",
          [](const PyEncryptor& self, const PyPlaintext& message) {
            return PyCiphertext{self.context, run_unlocked([&] { return self.value.encrypt(message.value); })};
          },
          "plaintext"_a);
  nb::class_<PyDecryptor>(m, "Decryptor", "Raw decryption, for the owner of the key only.")
      .def(
          "__init__",
          [](PyDecryptor* self, SharedContext context, std::shared_ptr<const SecretKey> key) {
            new (self) PyDecryptor{context, Decryptor(*context, std::move(key))};
          },
          "context"_a, "secret_key"_a)
      .def("decrypt", &decrypt, "ciphertext"_a, "The slots, complex128.")
      .def(
          "coefficients",
          [](const PyDecryptor& self, const PyCiphertext& x) {
            const SecretBuffer<double> found = run_unlocked([&] { return self.value.decrypt(x.value); });
            return to_array(std::vector<double>(found.begin(), found.end()));
          },
          "ciphertext"_a, "The N coefficients of message * scale + noise, float64.");
  m.def("move", &move_value<Ciphertext>, "value"_a, "to"_a, "keeps_copy"_a = true,
        "The value in the memory of another context with the same parameters; it keeps what was made, for the next "
        "time, unless keeps_copy is false.");
  m.def("move", &move_value<Plaintext>, "value"_a, "to"_a, "keeps_copy"_a = true);
  m.def("save_ciphertexts", &write_ciphertexts, "path"_a.none(), "ciphertexts"_a, "names"_a, "extras"_a = nb::dict(),
        "To a file, or the bytes of one if path is None.");
  m.def("load_ciphertexts", &read_ciphertexts, "source"_a, "context"_a,
        "From a path or from bytes: (ciphertexts, names, extras).");
}

}  // namespace lw
