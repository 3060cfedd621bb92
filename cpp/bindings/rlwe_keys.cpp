// Keys, their generation and their files in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "backend/operation_scope.hpp"
#include "bindings/buffers.hpp"
#include "bindings/rlwe_types.hpp"
#include "rlwe/ciphertext_files.hpp"
#include "rlwe/key_files.hpp"
#include "rlwe/key_generator.hpp"
#include "rlwe/seeded.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using SharedContext = std::shared_ptr<const Context>;

[[noreturn]] void refuse_copy(const SecretKey&, const nb::args&) {
  throw Error(ErrorKind::kSecretKey, "a secret key is never pickled or copied; save_secret_key writes it to its file");
}

std::vector<KeySpec> to_specs(const std::vector<nb::dict>& dicts) {
  std::vector<KeySpec> specs;
  for (const nb::dict& dict : dicts) specs.push_back(to_spec(dict));
  return specs;
}

/// Tells `on_key`, which must outlive it, of each key.
KeyProgress progress_of(const nb::object& on_key) {
  return [&on_key, tick = signal_tick()](std::size_t i, std::size_t count, const KeySpec& spec) {
    tick();
    if (on_key.is_none()) return;
    nb::gil_scoped_acquire acquired;
    on_key(i, count, spec_dict(spec));
  };
}

PyEvaluationKeys generate(const Owned<KeyGenerator>& self, const SecretKey& secret, const std::vector<nb::dict>& dicts,
                          const nb::object& on_key) {
  const std::vector<KeySpec> specs = to_specs(dicts);
  const KeyProgress progress = progress_of(on_key);
  return {self.context, run_unlocked([&] {
            return std::make_shared<const EvaluationKeys>(self.value.evaluation_keys(secret, specs, progress));
          })};
}

using PyUnfinishedKeys = Owned<std::unique_ptr<UnfinishedKeys>>;

void open_unfinished(PyUnfinishedKeys* self, nb::handle path, const nb::bytes& key_set,
                     const std::vector<nb::dict>& dicts, SharedContext context, bool continues) {
  const KeySetId id = to_key_set(key_set);
  const std::string file = to_path(path);
  std::vector<KeySpec> specs = to_specs(dicts);
  auto keys =
      run_unlocked([&] { return std::make_unique<UnfinishedKeys>(file, id, std::move(specs), *context, continues); });
  new (self) PyUnfinishedKeys{std::move(context), std::move(keys)};
}

void bind_unfinished_keys(nb::module_& m) {
  nb::class_<PyUnfinishedKeys>(m, "UnfinishedKeys",
                               "A file of evaluation keys under construction, which stays when its process ends: "
                               "PATH.partial, until all keys are in it.")
      .def("__init__", &open_unfinished, "path"_a, "key_set"_a, "specs"_a, "context"_a, "continues"_a,
           "continues: keep what is there, if it is for these keys.")
      .def_prop_ro(
          "num_kept", [](const PyUnfinishedKeys& self) { return self.value->num_kept(); },
          "How many of the keys gone through were in the file already.")
      .def("remove", [](const PyUnfinishedKeys& self) { self.value->remove(); })
      .def_static(
          "owner",
          [](nb::handle path) -> nb::object {
            const std::optional<KeySetId> id = UnfinishedKeys::owner(to_path(path));
            if (!id) return nb::none();
            return to_bytes(*id);
          },
          "path"_a, "The key set of the unfinished file of this path, None if there is none.")
      .def_static(
          "remove_file", [](nb::handle path) { return UnfinishedKeys::remove(to_path(path)); }, "path"_a,
          "Remove the unfinished file of this path; whether there was one.");
}

nb::list specs_of(const PyEvaluationKeys& keys) {
  nb::list list;
  for (const auto& key : keys.value->keys()) list.append(spec_dict(key->spec));
  return list;
}

/// Throws unless the keys to and from sparse secrets, which live during one call each, are all of one call: a value
/// under one sparse secret would be taken for one under another.
void check_one_sparse_secret(const EvaluationKeys& keys) {
  const EvaluationKey* first = nullptr;
  for (const auto& key : keys.keys()) {
    if (key->spec.kind != KeyKind::kToSparse && key->spec.kind != KeyKind::kToDense) continue;
    if (first == nullptr) first = key.get();
    if (key->seed.seed == first->seed.seed) continue;
    throw Error(ErrorKind::kParameterMismatch,
                "merged: both sets hold keys of bootstrapping, which are for different sparse secrets; generate the "
                "keys of all bootstraps in one call");
  }
}

PyEvaluationKeys merge(const PyEvaluationKeys& self, const PyEvaluationKeys& other) {
  check_parameters(other.value->parameters(), self.context->parameters(), "merged: the other key set");
  check_key_set(other.value->id(), self.value->id(), "merged: the other key set");
  auto both = std::make_shared<EvaluationKeys>(*self.value);
  for (const auto& key : other.value->keys()) {
    check_context(other.value->parameters(), *key->b, *self.context, "merged: the other key set");
    both->add(key);
  }
  check_one_sparse_secret(*both);
  return {self.context, std::move(both)};
}

/// Halves that are expanded from seeds are expanded where they go.
PyEvaluationKeys move_keys(const PyEvaluationKeys& keys, const std::shared_ptr<const Context>& to) {
  check_parameters(keys.value->parameters(), to->parameters(), "move: the keys");
  const OperationScope scope(OperationKind::kCall, "move");
  auto there = std::make_shared<EvaluationKeys>(keys.value->id(), keys.value->parameters());
  {
    const nb::gil_scoped_release released;
    for (const auto& key : keys.value->keys()) {
      check_context(keys.value->parameters(), *key->b, *keys.context, "move: a key");
      auto copy = std::make_shared<EvaluationKey>(*key);
      if (key->b->form() != to->ring().backend().form()) {
        copy->b = std::make_shared<const RnsPolys>(copy_of(keys.context->ring(), *key->b, to->ring()));
        copy->a = std::make_shared<const RnsPolys>(
            key->is_unproved ? copy_of(keys.context->ring(), *key->a, to->ring())
                             : expand_key(to->ring(), key->a->limbs(), key->digits, key->seed));
      }
      there->add(std::move(copy));
    }
    to->ring().device().synchronise(to->ring().queue());
  }
  return {to, std::move(there)};
}

void bind_key_files(nb::module_& m) {
  m.def("move", &move_keys, "value"_a, "to"_a, "Copies in the memory of another context with the same parameters.");
  m.def(
      "save_secret_key",
      [](nb::handle path, const SecretKey& key, const Context& context) {
        const std::optional<std::string> to = optional_path(path);
        return saved(to, save_secret_key(to, key, context.parameters()));
      },
      "path"_a.none(), "key"_a, "context"_a, "To a file of mode 0600, or the bytes of one if path is None.");
  m.def(
      "load_secret_key",
      [](nb::handle from, const Context& context) {
        const SourceView source(from);
        return std::make_shared<SecretKey>(load_secret_key(source.source, context.parameters()));
      },
      "source"_a, "context"_a, "From a path, or from bytes.");
  m.def(
      "save_public_key",
      [](nb::handle path, const PyPublicKey& key) {
        const std::optional<std::string> to = optional_path(path);
        return saved(to, run_unlocked([&] { return save_public_key(to, *key.value, *key.context); }));
      },
      "path"_a.none(), "key"_a, "To a file, or the bytes of one if path is None.");
  m.def(
      "load_public_key",
      [](nb::handle from, SharedContext context) {
        const SourceView source(from);
        return PyPublicKey{context, run_unlocked([&] {
                             return std::make_shared<const PublicKey>(load_public_key(source.source, *context));
                           })};
      },
      "source"_a, "context"_a, "From a path, or from bytes.");
  m.def(
      "save_evaluation_keys",
      [](nb::handle path, const PyEvaluationKeys& keys) {
        const std::optional<std::string> to = optional_path(path);
        return saved(to, run_unlocked([&] { return save_evaluation_keys(to, *keys.value, *keys.context); }));
      },
      "path"_a.none(), "keys"_a, "To a file, or the bytes of one if path is None.");
  m.def(
      "load_evaluation_keys",
      [](nb::handle from, SharedContext context) {
        const SourceView source(from);
        return PyEvaluationKeys{context, run_unlocked([&] {
                                  return std::make_shared<const EvaluationKeys>(
                                      load_evaluation_keys(source.source, *context, signal_tick()));
                                })};
      },
      "source"_a, "context"_a, "From a path, or from bytes.");
}

}  // namespace

void bind_keys(nb::module_& m) {
  nb::class_<SecretKey>(m, "SecretKey", "A secret key: nothing of it is shown, pickled or copied.")
      .def_prop_ro("key_set", [](const SecretKey& self) { return to_bytes(self.id()); })
      .def_prop_ro("parameters", [](const SecretKey& self) { return to_bytes(self.parameters()); })
      .def("__repr__", [](const SecretKey&) { return "SecretKey(...)"; })
      .def("__reduce__", &refuse_copy)
      .def("__reduce_ex__", &refuse_copy)
      .def("__getstate__", &refuse_copy)
      .def("__copy__", &refuse_copy)
      .def("__deepcopy__", &refuse_copy);
  nb::class_<PyPublicKey>(m, "PublicKey")
      .def_prop_ro("key_set", [](const PyPublicKey& self) { return to_bytes(self.value->id); })
      .def_prop_ro("parameters", [](const PyPublicKey& self) { return to_bytes(self.value->parameters); })
      .def_prop_ro("num_bytes", [](const PyPublicKey& self) { return self.value->a->bytes() + self.value->b->bytes(); })
      .def_prop_ro("is_unproved", [](const PyPublicKey& self) { return self.value->is_unproved; });
  nb::class_<PyEvaluationKeys>(m, "EvaluationKeys", "The public keys that a server computes with.")
      .def_static(
          "none",
          [](SharedContext context) {
            const Fingerprint parameters = context->parameters().fingerprint();
            return PyEvaluationKeys{std::move(context), std::make_shared<EvaluationKeys>(KeySetId{}, parameters)};
          },
          "context"_a, "No key, for ciphertexts under any.")
      .def_prop_ro("key_set", [](const PyEvaluationKeys& self) { return to_bytes(self.value->id()); })
      .def_prop_ro("parameters", [](const PyEvaluationKeys& self) { return to_bytes(self.value->parameters()); })
      .def_prop_ro("num_bytes", [](const PyEvaluationKeys& self) { return self.value->num_bytes(); })
      .def_prop_ro("specs", &specs_of)
      .def_prop_ro("is_unproved", [](const PyEvaluationKeys& self) { return self.value->is_unproved(); })
      .def("__len__", [](const PyEvaluationKeys& self) { return self.value->keys().size(); })
      .def("merged", &merge, "other"_a, "The keys of both sets, which must be of one secret key.");
  nb::class_<Owned<KeyGenerator>>(m, "KeyGenerator")
      .def(
          "__init__",
          [](Owned<KeyGenerator>* self, SharedContext context, nb::handle insecure_seed) {
            new (self) Owned<KeyGenerator>{
                context, KeyGenerator(*context, to_seed_source(insecure_seed, *context, "KeyGenerator"))};
          },
          "context"_a, "insecure_seed"_a.none() = nb::none(), "insecure_seed: 32 bytes, for tests.")
      .def("secret_key",
           [](const Owned<KeyGenerator>& self) { return std::make_shared<SecretKey>(self.value.secret_key()); })
      .def(
          "public_key",
          [](const Owned<KeyGenerator>& self, const SecretKey& secret) {
            return PyPublicKey{self.context, run_unlocked([&] {
                                 return std::make_shared<const PublicKey>(self.value.public_key(secret));
                               })};
          },
          "secret_key"_a)
      .def("evaluation_keys", &generate, "secret_key"_a, "specs"_a, "on_key"_a.none() = nb::none(),
           "One key per spec; on_key(index, count, spec) after each.")
      .def(
          "write_evaluation_keys",
          [](const Owned<KeyGenerator>& self, const SecretKey& secret, const PyUnfinishedKeys& file,
             const nb::object& on_key) {
            const KeyProgress progress = progress_of(on_key);
            run_unlocked([&] { self.value.write_evaluation_keys(secret, *file.value, progress); });
          },
          "secret_key"_a, "file"_a, "on_key"_a.none() = nb::none(),
          "Make the keys that the file does not hold yet, one after the other, and complete it.");
  bind_unfinished_keys(m);
  bind_key_files(m);
}

}  // namespace lw
