// Files that are read piece by piece, in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/buffers.hpp"
#include "bindings/cbor_objects.hpp"
#include "bindings/ring_arrays.hpp"
#include "bindings/rlwe_types.hpp"
#include "rlwe/ciphertext_files.hpp"
#include "rlwe/key_files.hpp"
#include "rlwe/plaintext_files.hpp"

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
  File file = run_unlocked([&] { return File(view.source, *context); });
  new (self) Opened<File>{std::move(context), std::move(view), std::move(file)};
}

using PyKeyFile = Opened<EvaluationKeyFile>;

template <typename File>
void check_index(const File& file, std::size_t i) {
  if (i >= file.size()) throw nb::index_error();
}

PyEvaluationKeys read_key(const PyKeyFile& self, std::size_t i, const std::optional<LevelPair>& level) {
  check_index(self.file, i);
  return {self.context, run_unlocked([&] {
            const Level at = level ? to_level(*level) : self.file.spec(i).level;
            EvaluationKeys one(self.file.id(), self.file.parameters());
            one.add(std::make_shared<const EvaluationKey>(self.file.read(i, at)));
            return std::make_shared<const EvaluationKeys>(std::move(one));
          })};
}

/// Limbs of a key file read as a reader of mapped keys reads them, again and again into the same memory: what the
/// benchmark of reading times.
class KeyLimbLoop {
 public:
  KeyLimbLoop(std::shared_ptr<PyKeyFile> file, std::size_t slots) : file_(std::move(file)) {
    require(slots > 0, ErrorKind::kValue, "limbs are read into at least one slot");
    for (std::size_t i = 0; i < slots; ++i) slots_.emplace_back(file_->context->ring(), LimbList{0}, 2);
  }
  KeyLimbLoop(const KeyLimbLoop&) = delete;

  void take(std::shared_ptr<PyKeyFile> file) {
    require(file->context == file_->context, ErrorKind::kValue, "another file has to be of the same context");
    file_ = std::move(file);
  }

  /// Every limb of key i; the bytes that they take in memory.
  std::size_t run(std::size_t i) {
    const KeyShape shape = shape_of(i);
    const nb::gil_scoped_release release;
    for (const DigitPart& digit : shape.digits) {
      for (const std::uint16_t limb : shape.limbs) {
        read(slots_[next_], i, digit.number, limb);
        next_ = (next_ + 1) % slots_.size();
      }
    }
    return shape.digits.size() * shape.limbs.size() * 2 * file_->context->degree() * sizeof(Word);
  }

  /// One limb, as residues: of b and of a.
  Result limb(std::size_t i, std::uint32_t digit, std::uint16_t limb) {
    const KeyShape shape = shape_of(i);
    const std::vector<std::uint32_t> digits = shape.digit_numbers();
    require(std::find(digits.begin(), digits.end(), digit) != digits.end() &&
                std::find(shape.limbs.begin(), shape.limbs.end(), limb) != shape.limbs.end(),
            ErrorKind::kValue, "key " + std::to_string(i) + " has no such limb");
    RnsPolys out(file_->context->ring(), {limb}, 2);
    read(out, i, digit, limb);
    return store(file_->context->ring(), out);
  }

 private:
  KeyShape shape_of(std::size_t i) const {
    check_index(file_->file, i);
    return file_->file.shape_at(i, file_->file.spec(i).level);
  }
  void read(RnsPolys& slot, std::size_t i, std::uint32_t digit, std::uint16_t limb) {
    LimbView to = slot.view();
    to.limbs = {&limb, 1};
    file_->file.read_limb(i, digit, limb, to, buffer_);
  }

  std::shared_ptr<PyKeyFile> file_;
  std::vector<RnsPolys> slots_;
  std::size_t next_ = 0;
  std::vector<std::uint8_t> buffer_;
};

nb::list specs_of_file(const PyKeyFile& self) {
  nb::list list;
  for (std::size_t i = 0; i < self.file.size(); ++i) list.append(spec_dict(self.file.spec(i)));
  return list;
}

/// A value of a file, at its own level or a lower one.
template <typename Value, typename File>
Owned<Value> read_value(const Opened<File>& self, std::size_t i, const std::optional<LevelPair>& level) {
  check_index(self.file, i);
  return {self.context, run_unlocked([&] { return self.file.read(i, level ? to_level(*level) : self.file.level(i)); })};
}

template <typename File>
nb::list names_of(const Opened<File>& self) {
  nb::list list;
  for (std::size_t i = 0; i < self.file.size(); ++i) list.append(self.file.name(i));
  return list;
}

template <typename File, typename Value>
nb::class_<Opened<File>> bind_reader(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<Opened<File>>(m, name, doc)
      .def("__init__", &open<File>, "source"_a, "context"_a, "From a path, or from bytes.")
      .def_prop_ro("names", &names_of<File>)
      .def_prop_ro("extras", [](const Opened<File>& self) { return to_python(self.file.extras()); })
      .def("__len__", [](const Opened<File>& self) { return self.file.size(); })
      .def(
          "level",
          [](const Opened<File>& self, std::size_t i) {
            check_index(self.file, i);
            return to_pair(self.file.level(i));
          },
          "i"_a, "(track, index)")
      .def("read", &read_value<Value, File>, "i"_a, "level"_a.none() = nb::none(),
           "The i-th, at a lower level of its track if one is given; other rows are not touched.")
      .def_prop_ro("touched_bytes", [](const Opened<File>& self) { return self.file.touched_bytes(); });
}

nb::object write_plaintexts(nb::handle path, const std::vector<PyPlaintext>& plaintexts,
                            const std::vector<std::string>& names, const nb::dict& extras) {
  if (plaintexts.empty() || plaintexts.size() != names.size()) {
    throw Error(ErrorKind::kValue, "save_plaintexts: " + std::to_string(plaintexts.size()) + " plaintexts and " +
                                       std::to_string(names.size()) + " names; needs as many, and at least one");
  }
  std::vector<NamedPlaintext> named;
  for (std::size_t i = 0; i < names.size(); ++i) named.push_back({names[i], plaintexts[i].value});
  const cbor::Map more = map_from_python(extras);
  const std::optional<std::string> to = optional_path(path);
  return saved(to, run_unlocked([&] { return save_plaintexts(to, named, more, *plaintexts[0].context); }));
}

}  // namespace

void bind_lazy_files(nb::module_& m) {
  nb::class_<PyKeyFile>(m, "EvaluationKeyFile", "Evaluation keys that stay in their file until they are read.")
      .def("__init__", &open<EvaluationKeyFile>, "source"_a, "context"_a, "From a path, or from bytes.")
      .def_prop_ro("key_set", [](const PyKeyFile& self) { return to_bytes(self.file.id()); })
      .def_prop_ro("parameters", [](const PyKeyFile& self) { return to_bytes(self.file.parameters()); })
      .def_prop_ro("specs", &specs_of_file)
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
  nb::class_<KeyLimbLoop>(m, "KeyLimbLoop", "Limbs of a key file, read one by one past its mapping, to be timed.")
      .def(nb::init<std::shared_ptr<PyKeyFile>, std::size_t>(), "file"_a, "slots"_a,
           "slots: limbs of memory that are read into one after the other.")
      .def("take", &KeyLimbLoop::take, "file"_a, "Goes on with another file, of the same context.")
      .def("run", &KeyLimbLoop::run, "i"_a, "Reads every limb of key i; returns the bytes that they take in memory.")
      .def("limb", &KeyLimbLoop::limb, "i"_a, "digit"_a, "limb"_a, "Canonical residues (2, 1, N): of b and of a.");
  bind_reader<CiphertextReader, Ciphertext>(m, "CiphertextReader",
                                            "Ciphertexts that stay in their file until they are read.");
  bind_reader<PlaintextReader, Plaintext>(m, "PlaintextReader",
                                          "Encoded plaintexts that stay in their file until they are read.")
      .def(
          "coefficient_bits",
          [](const Opened<PlaintextReader>& self, std::size_t i) {
            check_index(self.file, i);
            return self.file.coefficient_bits(i);
          },
          "i"_a, "Bits of a stored integer, or 0 if the i-th is stored as rows.");
  m.def("save_plaintexts", &write_plaintexts, "path"_a.none(), "plaintexts"_a, "names"_a, "extras"_a = nb::dict(),
        "To a file, or the bytes of one if path is None.");
}

}  // namespace lw
