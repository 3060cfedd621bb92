// Parameters and contexts in Python, and the conversions of rlwe_types.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "bindings/bindings.hpp"
#include "bindings/buffers.hpp"
#include "bindings/rlwe_types.hpp"
#include "rlwe/security.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using Groups = std::vector<LimbList>;

Track track_from(const nb::dict& dict) {
  return {nb::cast<Groups>(dict["groups"]), nb::cast<std::vector<double>>(dict["scales"])};
}

Gadget gadget_from(const nb::dict& dict) {
  return {nb::cast<std::size_t>(dict["limbs"]), nb::cast<std::size_t>(dict["num_special"]),
          nb::cast<Groups>(dict["digits"])};
}

nb::list gadgets_of(const Parameters& parameters) {
  nb::list list;
  for (const Gadget& gadget : parameters.fields().gadgets) {
    nb::dict dict;
    dict["limbs"] = gadget.limbs;
    dict["num_special"] = gadget.num_special;
    dict["digits"] = nb::cast(gadget.digits);
    list.append(dict);
  }
  return list;
}

nb::list tracks_of(const Parameters& parameters) {
  nb::list list;
  for (const Track& track : parameters.fields().tracks) {
    nb::dict dict;
    dict["groups"] = nb::cast(track.groups);
    dict["scales"] = nb::cast(track.scales);
    list.append(dict);
  }
  return list;
}

void init_parameters(Parameters* self, std::uint32_t ring_degree, std::vector<std::uint64_t> q,
                     std::vector<std::uint64_t> p, Groups digits, const std::vector<nb::dict>& tracks,
                     std::string secret, std::uint32_t security_bits, bool insecure, std::uint64_t plain_modulus,
                     std::uint32_t secret_weight, std::vector<std::uint64_t> low_p,
                     const std::vector<nb::dict>& gadgets) {
  ParameterFields fields{ring_degree,       std::move(q),  std::move(p), std::move(digits), {},
                         std::move(secret), security_bits, insecure,     plain_modulus,     secret_weight,
                         std::move(low_p)};
  for (const nb::dict& track : tracks) fields.tracks.push_back(track_from(track));
  for (const nb::dict& gadget : gadgets) fields.gadgets.push_back(gadget_from(gadget));
  new (self) Parameters(std::move(fields));
}

/// {N: {128: bits or None, 192: ..., 256: ...}}
using Limit = std::optional<std::uint32_t> (*)(std::uint32_t, std::uint32_t) noexcept;

nb::dict table_dict(std::span<const SecurityRow> rows, Limit limit_of) {
  nb::dict table;
  for (const SecurityRow& row : rows) {
    nb::dict limits;
    for (const std::uint32_t bits : {128u, 192u, 256u}) {
      const auto limit = limit_of(row.ring_degree, bits);
      limits[nb::int_(bits)] = limit ? nb::object(nb::int_(*limit)) : nb::none();
    }
    table[nb::int_(row.ring_degree)] = limits;
  }
  return table;
}

void bind_context(nb::module_& m) {
  nb::class_<MemoryUse>(m, "MemoryUse",
                        "Bytes of the system's memory: held now, idle (the part of them that stays for later), fresh "
                        "(got in all, with the page faults of their first use), returned in all.")
      .def_ro("held", &MemoryUse::held)
      .def_ro("idle", &MemoryUse::idle)
      .def_ro("fresh", &MemoryUse::fresh)
      .def_ro("returned", &MemoryUse::returned);
  nb::class_<Context>(m, "Context", "Parameters on a backend: owner of tables and memory. threads=0: one per core.")
      .def(
          "__init__",
          [](Context* self, std::shared_ptr<const Parameters> parameters, const std::string& backend, unsigned threads,
             std::int32_t device, std::uint64_t memory_bytes, bool keeps_memory, bool is_synchronous, bool replays,
             std::uint64_t account) {
            nb::gil_scoped_release released;
            const DeviceOptions options = {device, memory_bytes, keeps_memory, is_synchronous, replays, account};
            new (self) Context(std::move(parameters), backend, threads, options);
          },
          "parameters"_a, "backend"_a = "auto", "threads"_a = 0, "device"_a = 0, "memory_bytes"_a = UINT64_MAX,
          "keeps_memory"_a = true, "is_synchronous"_a = false, "replays"_a = true, "account"_a = 0,
          "What follows threads is for devices: which of them, most bytes of its memory, whether freed memory stays "
          "for "
          "later, whether every kernel is waited for, and a number: contexts with others share no memory.")
      .def_prop_ro("parameters", &Context::shared_parameters)
      .def_prop_ro(
          "ring", [](const Context& self) -> const Ring& { return self.ring(); }, nb::rv_policy::reference_internal)
      .def_prop_ro("backend", [](const Context& self) { return std::string(self.ring().backend().name()); })
      .def_prop_ro(
          "device", [](const Context& self) { return std::string(self.ring().backend().form().device); },
          "Where values are: \"host\", or a device such as \"cuda:0\".")
      .def_prop_ro(
          "host",
          [](const std::shared_ptr<const Context>& self) { return self->twin() == nullptr ? self : self->twin(); },
          "Its twin on the host; itself, if it is there.")
      .def_prop_ro(
          "has_failed", [](const Context& self) { return self.ring().device().has_failed(); },
          "Whether something failed on its device: then it computes nothing any more, and a new context does.")
      .def(
          "synchronise",
          [](const Context& self) {
            nb::gil_scoped_release released;
            self.ring().device().synchronise(self.ring().queue());
          },
          "Wait until all that was called is done; raises what failed.")
      .def(
          "trim",
          [](const Context& self) {
            nb::gil_scoped_release released;
            self.ring().device().trim();
          },
          "Give unused memory of the device back.")
      .def_prop_ro("live_bytes", [](const Context& self) { return self.ring().device().live_bytes(); })
      .def_prop_ro("peak_bytes", [](const Context& self) { return self.ring().device().peak_bytes(); })
      .def("reset_peak", [](const Context& self) { self.ring().device().reset_peak(); })
      .def_prop_ro("memory", [](const Context& self) { return self.ring().device().memory(); });
}

}  // namespace

Basis to_basis(const std::string& name) {
  if (name == "Q") return Basis::kQ;
  if (name == "QP") return Basis::kQP;
  throw Error(ErrorKind::kValue, "basis must be \"Q\" or \"QP\", got \"" + name + "\"");
}

const char* basis_name(Basis basis) noexcept { return basis == Basis::kQ ? "Q" : "QP"; }

Encoding to_encoding(const std::string& name) {
  if (name == "slots") return Encoding::kSlots;
  if (name == "coefficients") return Encoding::kCoefficients;
  throw Error(ErrorKind::kValue, "encoding must be \"slots\" or \"coefficients\", got \"" + name + "\"");
}

const char* encoding_name(Encoding encoding) noexcept {
  return encoding == Encoding::kSlots ? "slots" : "coefficients";
}

SeedSource to_seed_source(nb::handle insecure_seed, const Context& context, const char* who) {
  if (insecure_seed.is_none()) return {};
  return SeedSource(bytes32(insecure_seed, "insecure_seed"), context.parameters(), who);
}

KeySetId to_key_set(const nb::bytes& bytes) {
  KeySetId id;
  if (bytes.size() != id.size()) throw Error(ErrorKind::kValue, "a key set has 16 bytes");
  std::copy_n(reinterpret_cast<const std::uint8_t*>(bytes.c_str()), id.size(), id.begin());
  return id;
}

KeySpec to_spec(const nb::dict& dict) {
  return {to_kind(nb::cast<std::string>(dict["kind"])),
          nb::cast<std::uint64_t>(dict["galois_element"]),
          {nb::cast<std::uint32_t>(dict["track"]), nb::cast<std::uint32_t>(dict["level"])}};
}

nb::dict spec_dict(const KeySpec& spec) {
  nb::dict dict;
  dict["kind"] = kind_name(spec.kind);
  dict["galois_element"] = spec.galois_element;
  dict["track"] = spec.level.track;
  dict["level"] = spec.level.index;
  return dict;
}

std::vector<std::complex<double>> to_complex(nb::handle values) {
  const nb::object array = nb::module_::import_("numpy").attr("ascontiguousarray")(values, "complex128");
  const auto view = nb::cast<nb::ndarray<const std::complex<double>, nb::ndim<1>, nb::c_contig>>(array);
  return {view.data(), view.data() + view.size()};
}

SourceView::SourceView(nb::handle object) {
  if (nb::isinstance<nb::str>(object) || nb::hasattr(object, "__fspath__")) {
    source.path = to_path(object);
  } else {
    view.emplace(object);
    source.bytes = view->span();
  }
}

std::optional<std::string> optional_path(nb::handle object) {
  return object.is_none() ? std::nullopt : std::optional(to_path(object));
}

nb::object saved(const std::optional<std::string>& path, const std::vector<std::uint8_t>& bytes) {
  return path ? nb::object(nb::none()) : nb::object(to_bytes(bytes));
}

Tick signal_tick(nb::handle also) {
  using Clock = std::chrono::steady_clock;
  return [also, last = Clock::now()]() mutable {
    if (Clock::now() - last < std::chrono::milliseconds(10)) return;
    nb::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!also.is_none()) also();
    last = Clock::now();
  };
}

namespace {

void bind_parameters(nb::module_& m) {
  nb::class_<Parameters>(m, "Parameters", "The public description of an RLWE instance; immutable.")
      .def("__init__", &init_parameters, "ring_degree"_a, "q"_a, "p"_a, "digits"_a, "tracks"_a, "secret"_a = "ternary",
           "security_bits"_a = 128, "insecure"_a = false, "plain_modulus"_a = 0, "secret_weight"_a = 0,
           "low_p"_a = std::vector<std::uint64_t>(), "gadgets"_a = std::vector<nb::dict>(), "plain_modulus 0: CKKS.")
      .def_static(
          "from_cbor", [](nb::handle data) { return Parameters::from_cbor(BytesView(data).span()); }, "data"_a)
      .def(
          "with_plain_modulus",
          [](const Parameters& self, std::uint64_t t) {
            return std::make_shared<const Parameters>(self.with_plain_modulus(t));
          },
          "plain_modulus"_a, "BFV: the same with another plaintext modulus; keys and ciphertexts are of both.")
      .def("to_cbor", [](const Parameters& self) { return to_bytes(self.to_cbor()); })
      .def_prop_ro("fingerprint", [](const Parameters& self) { return to_bytes(self.fingerprint()); })
      .def_prop_ro("ring_degree", &Parameters::ring_degree)
      .def_prop_ro("q", [](const Parameters& self) { return self.fields().q; })
      .def_prop_ro("p", [](const Parameters& self) { return self.fields().p; })
      .def_prop_ro("digits", [](const Parameters& self) { return self.fields().digits; })
      .def_prop_ro("tracks", &tracks_of)
      .def_prop_ro("low_p", [](const Parameters& self) { return self.fields().low_p; })
      .def_prop_ro("gadgets", &gadgets_of, "How keys of lower levels are cut: limbs, num_special and digits of each.")
      .def_prop_ro("secret", [](const Parameters& self) { return self.fields().secret; })
      .def_prop_ro("security_bits", [](const Parameters& self) { return self.fields().security_bits; })
      .def_prop_ro("insecure", &Parameters::insecure)
      .def_prop_ro("has_batching", &Parameters::has_batching)
      .def_prop_ro("plain_modulus", [](const Parameters& self) { return self.fields().plain_modulus; })
      .def(
          "extension_primes",
          [](const Parameters& self, LevelPair level) {
            self.require_level(to_level(level));
            std::vector<std::uint64_t> primes;
            if (!self.is_bfv()) return primes;
            for (const std::uint16_t limb : self.extension(to_level(level))) primes.push_back(self.prime(limb));
            return primes;
          },
          "level"_a, "Primes of the basis besides Q in which BFV products at a level are computed.")
      .def_prop_ro("digits_above_p", &Parameters::digits_above_p)
      .def(
          "basis",
          [](const Parameters& self, LevelPair level) {
            self.require_level(to_level(level));
            return self.basis(to_level(level));
          },
          "level"_a, "Q limb numbers of a level (track, index), ascending.")
      .def("__eq__",
           [](const Parameters& self, const Parameters& other) { return self.fingerprint() == other.fingerprint(); })
      .def("__hash__", [](const Parameters& self) { return nb::hash(to_bytes(self.fingerprint())); })
      .def("__repr__", [](const Parameters& self) {
        return "Parameters(" + short_hex(self.fingerprint()) + ", ring_degree=" + std::to_string(self.ring_degree()) +
               ", " + std::to_string(self.num_q()) + "+" + std::to_string(self.num_p() + self.fields().low_p.size()) +
               " primes" + (self.insecure() ? ", INSECURE)" : ")");
      });
  m.def(
      "security_table", [] { return table_dict(kSecurityTable, &max_log2_modulus); },
      "Largest log2 of a modulus by ring degree and security bits.");
  m.def("max_log2_modulus_of", &max_log2_modulus_of, "secret"_a, "secret_weight"_a, "ring_degree"_a, "security_bits"_a,
        "The largest log2 of a modulus for secrets of this kind; None where no table has them.");
  m.def(
      "sparse_security_table", [] { return table_dict(kSparseSecurityTable, &max_log2_sparse_modulus); },
      "The same for keys under the sparse secret of bootstrapping.");
}

}  // namespace

void bind_rlwe(nb::module_& m) {
  m.attr("MAX_CIPHERTEXT_DEGREE") = kMaxCiphertextDegree;
  bind_parameters(m);
  bind_context(m);
  bind_ciphertexts(m);
  bind_vector_batches(m);
  bind_lazy_files(m);
  bind_keys(m);
  bind_evaluator(m);
  bind_bfv(m);
  bind_residues(m);
}

}  // namespace lw
