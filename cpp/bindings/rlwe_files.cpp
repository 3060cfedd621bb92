// Files that are read piece by piece, in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/buffers.hpp"
#include "bindings/cbor_objects.hpp"
#include "bindings/rlwe_types.hpp"
#include "rlwe/ciphertext_files.hpp"
#include "rlwe/key_files.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

/// A file with the context, and the Python bytes if any, that it looks at.
template <typename File>
struct Opened {
  std::shared_ptr<const Context> context;
  SourceView view;
  File file;
};

template <typename File>
void open(Opened<File>* self, nb::handle source, std::shared_ptr<const Context> context) {
  SourceView view(source);
  File file = unlocked([&] { return File(view.source, *context); });
  new (self) Opened<File>{std::move(context), std::move(view), std::move(file)};
}

using PyKeyFile = Opened<EvaluationKeyFile>;
using PyCiphertextReader = Opened<CiphertextReader>;

template <typename File>
void check_index(const File& file, std::size_t i) {
  if (i >= file.size()) throw nb::index_error();
}

PyEvaluationKeys read_key(const PyKeyFile& self, std::size_t i, const std::optional<LevelPair>& level) {
  check_index(self.file, i);
  return {self.context, unlocked([&] {
            const Level at = level ? to_level(*level) : self.file.spec(i).level;
            EvaluationKeys one(self.file.id(), self.file.parameters());
            one.add(std::make_shared<const EvaluationKey>(self.file.read(i, at)));
            return std::make_shared<const EvaluationKeys>(std::move(one));
          })};
}

nb::list specs_of(const PyKeyFile& self) {
  nb::list list;
  for (std::size_t i = 0; i < self.file.size(); ++i) list.append(spec_dict(self.file.spec(i)));
  return list;
}

PyCiphertext read_ciphertext(const PyCiphertextReader& self, std::size_t i, const std::optional<LevelPair>& level) {
  check_index(self.file, i);
  return {self.context, unlocked([&] { return self.file.read(i, level ? to_level(*level) : self.file.level(i)); })};
}

nb::list names_of(const PyCiphertextReader& self) {
  nb::list list;
  for (std::size_t i = 0; i < self.file.size(); ++i) list.append(self.file.name(i));
  return list;
}

}  // namespace

void bind_lazy_files(nb::module_& m) {
  nb::class_<PyKeyFile>(m, "EvaluationKeyFile", "Evaluation keys that stay in their file until they are read.")
      .def("__init__", &open<EvaluationKeyFile>, "source"_a, "context"_a, "From a path, or from bytes.")
      .def_prop_ro("key_set", [](const PyKeyFile& self) { return to_bytes(self.file.id()); })
      .def_prop_ro("parameters", [](const PyKeyFile& self) { return to_bytes(self.file.parameters()); })
      .def_prop_ro("specs", &specs_of)
      .def("__len__", [](const PyKeyFile& self) { return self.file.size(); })
      .def("read", &read_key, "i"_a, "level"_a.none() = nb::none(),
           "The i-th key alone, cut to a level that it covers; only the rows of that level are touched.")
      .def(
          "stored_bytes",
          [](const PyKeyFile& self, std::size_t i) {
            check_index(self.file, i);
            return self.file.stored_bytes(i);
          },
          "i"_a)
      .def_prop_ro(
          "touched_bytes", [](const PyKeyFile& self) { return self.file.touched_bytes(); },
          "Bytes of the file looked at so far, again each time.");
  nb::class_<PyCiphertextReader>(m, "CiphertextReader", "Ciphertexts that stay in their file until they are read.")
      .def("__init__", &open<CiphertextReader>, "source"_a, "context"_a, "From a path, or from bytes.")
      .def_prop_ro("names", &names_of)
      .def_prop_ro("extras", [](const PyCiphertextReader& self) { return to_python(self.file.extras()); })
      .def("__len__", [](const PyCiphertextReader& self) { return self.file.size(); })
      .def(
          "level",
          [](const PyCiphertextReader& self, std::size_t i) {
            check_index(self.file, i);
            return to_pair(self.file.level(i));
          },
          "i"_a)
      .def("read", &read_ciphertext, "i"_a, "level"_a.none() = nb::none(),
           "The i-th ciphertext, at a lower level of its track if one is given; other rows are not touched.")
      .def_prop_ro("touched_bytes", [](const PyCiphertextReader& self) { return self.file.touched_bytes(); });
}

}  // namespace lw
