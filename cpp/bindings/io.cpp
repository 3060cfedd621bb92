// Hashes, CBOR and containers in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/buffers.hpp"
#include "bindings/cbor_objects.hpp"
#include "io/cbor.hpp"
#include "io/container.hpp"
#include "io/file.hpp"
#include "math/blake3.hpp"
#include "math/chacha20.hpp"
#include "math/fast_sum.hpp"
#include "math/vector_sets.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

constexpr std::array<const char*, 3> kVectorSets = {"generic", "avx2", "avx512"};  // in the order of VectorSet

std::vector<std::string> vector_sets() {
  return {kVectorSets.begin(), kVectorSets.begin() + static_cast<std::ptrdiff_t>(widest_vectors()) + 1};
}

VectorSet to_vectors(const std::optional<std::string>& name) {
  if (!name) return widest_vectors();
  const std::vector<std::string> here = vector_sets();
  const auto found = std::find(here.begin(), here.end(), *name);
  if (found == here.end()) throw Error(ErrorKind::kValue, "this machine has no vectors '" + *name + "'");
  return static_cast<VectorSet>(found - here.begin());
}

nb::bytes hash_bytes(nb::handle data, const std::optional<std::string>& vectors) {
  const BytesView view(data);
  const VectorSet set = to_vectors(vectors);
  Hash hash;
  {
    nb::gil_scoped_release released;
    hash = blake3(view.span(), set);
  }
  return to_bytes(hash);
}

nb::bytes hash_parts(const nb::sequence& parts, const std::optional<std::string>& vectors) {
  Blake3 hasher(to_vectors(vectors));
  for (const nb::handle part : parts) hasher.update(BytesView(part).span());
  return to_bytes(hasher.finalize());
}

nb::bytes keyed_hash_bytes(nb::handle key, nb::handle data) {
  const Hash key_bytes = bytes32(key, "blake3_keyed: key");
  return to_bytes(blake3_keyed(key_bytes, BytesView(data).span()));
}

nb::bytes keystream(nb::handle key, std::uint32_t counter, std::size_t size,
                    const std::optional<std::string>& vectors) {
  const Hash key_bytes = bytes32(key, "chacha20_keystream: key");
  const nb::bytes out = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!out.is_valid()) throw nb::python_error();
  chacha20_keystream(key_bytes, counter, {reinterpret_cast<std::uint8_t*>(PyBytes_AsString(out.ptr())), size},
                     to_vectors(vectors));
  return out;
}

nb::bytes encode(nb::handle object) { return to_bytes(cbor::encode(from_python(object))); }
nb::object decode(nb::handle data) { return to_python(cbor::decode(BytesView(data).span())); }

constexpr std::uint64_t kMostRowBytes = std::uint64_t{1} << 40;

FileKind file_kind(std::uint16_t number) {
  const FileKind kind = static_cast<FileKind>(number);
  (void)to_string(kind);  // throws for a number that is no kind
  return kind;
}

Writer make_writer(nb::handle path, std::uint16_t kind, nb::handle parameters, const nb::dict& header,
                   const std::vector<Writer::Declared>& sections) {
  const Hash fingerprint = bytes32(parameters, "parameters");
  const std::optional<std::string> to = path.is_none() ? std::nullopt : std::optional(to_path(path));
  return Writer(to, file_kind(kind), fingerprint, map_from_python(header), sections);
}

void write_piece(Writer& writer, nb::handle piece) {
  const BytesView view(piece);
  nb::gil_scoped_release released;
  writer.write(view.span());
}

/// The bytes of a container in memory; None for a file.
nb::object commit(Writer& writer) {
  std::vector<std::uint8_t> bytes;
  {
    nb::gil_scoped_release released;
    bytes = writer.commit();
  }
  if (bytes.empty()) return nb::none();
  return to_bytes(bytes);
}

/// (kind, number of bytes) pairs; a list of numbers declares rows.
std::vector<Writer::Declared> declarations(const std::vector<std::pair<std::uint16_t, nb::object>>& sections) {
  std::vector<Writer::Declared> declared;
  for (const auto& [kind, size] : sections) {
    Writer::Declared section{kind, 0};
    if (nb::isinstance<nb::list>(size)) {
      section.row_bytes = nb::cast<std::vector<std::uint64_t>>(size);
      for (const std::uint64_t bytes : section.row_bytes) {
        if (bytes > kMostRowBytes) throw Error(ErrorKind::kValue, "container: a row is larger than 2^40 bytes");
        section.bytes += bytes;
      }
    } else {
      section.bytes = nb::cast<std::uint64_t>(size);
    }
    declared.push_back(std::move(section));
  }
  return declared;
}

nb::object write_container(nb::handle path, std::uint16_t kind, nb::handle parameters, const nb::dict& header,
                           const std::vector<std::pair<std::uint16_t, nb::object>>& sections) {
  std::vector<BytesView> contents;
  std::vector<Writer::Declared> declared;
  for (const auto& [section_kind, content] : sections) {
    Writer::Declared section{section_kind, 0};
    const bool has_rows = nb::isinstance<nb::list>(content);
    const nb::list pieces = has_rows ? nb::borrow<nb::list>(content) : nb::list();
    for (std::size_t i = 0; i < (has_rows ? pieces.size() : 1); ++i) {
      contents.emplace_back(has_rows ? nb::handle(pieces[i]) : nb::handle(content));
      const std::uint64_t bytes = contents.back().span().size();
      section.bytes += bytes;
      if (has_rows) section.row_bytes.push_back(bytes);
    }
    declared.push_back(std::move(section));
  }
  Writer writer = make_writer(path, kind, parameters, header, declared);
  {
    nb::gil_scoped_release released;
    for (const BytesView& content : contents) writer.write(content.span());
  }
  return commit(writer);
}

/// A Reader together with the Python bytes it looks at, if any.
struct ContainerReader {
  nb::object source;
  Reader reader;
};

Expected expectations(const std::vector<std::uint16_t>& kinds, const std::optional<nb::bytes>& parameters,
                      std::optional<std::uint64_t> max_bytes) {
  Expected expected;
  for (const std::uint16_t kind : kinds) expected.kinds.push_back(file_kind(kind));
  if (expected.kinds.empty()) throw Error(ErrorKind::kValue, "ContainerReader: kinds is empty; say what is expected");
  if (parameters) expected.parameters = bytes32(*parameters, "parameters");
  if (max_bytes) expected.max_bytes = *max_bytes;
  return expected;
}

ContainerReader open_container(nb::object source, const std::vector<std::uint16_t>& kinds,
                               const std::optional<nb::bytes>& parameters, std::optional<std::uint64_t> max_bytes) {
  const Expected expected = expectations(kinds, parameters, max_bytes);
  if (PyBytes_Check(source.ptr())) {
    const auto bytes = nb::borrow<nb::bytes>(source);
    const std::span view(static_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    return {source, Reader::view(view, "container", expected)};
  }
  return {nb::none(), Reader::open(to_path(source), expected)};
}

nb::bytes section_bytes(const ContainerReader& self, std::size_t i) {
  std::span<const std::uint8_t> content;
  {
    nb::gil_scoped_release released;
    content = self.reader.section(i);
  }
  return to_bytes(content);
}

nb::bytes row_bytes(const ContainerReader& self, std::size_t i, std::size_t row) {
  const std::span<const std::uint8_t> content = self.reader.unverified_row(i, row);
  if (!self.reader.row_is_intact(i, row)) {
    throw Error(ErrorKind::kFormat, self.reader.name() + ": section " + std::to_string(i) + ", row " +
                                        std::to_string(row) + " does not match its hash; copy the file again");
  }
  return to_bytes(content);
}

void bind_hashes(nb::module_& m) {
  m.def("vector_sets", vector_sets, "Vectors that hashes and streams may use here, the widest last: what they do use.");
  m.def("blake3", hash_bytes, "data"_a, "vectors"_a.none() = nb::none(),
        "The 32-byte BLAKE3 hash of a bytes-like object.");
  m.def("blake3_of_parts", hash_parts, "parts"_a, "vectors"_a.none() = nb::none(),
        "The hash of several of them, one after the other.");
  m.def("blake3_keyed", keyed_hash_bytes, "key"_a, "data"_a, "The keyed BLAKE3 hash under a 32-byte key.");
  m.def("chacha20_keystream", keystream, "key"_a, "counter"_a, "size"_a, "vectors"_a.none() = nb::none(),
        "`size` bytes of the RFC 8439 keystream with a zero nonce, from 64-byte block `counter`.");
  m.def(
      "fast_sum", [](nb::handle data) { return fast_sum(BytesView(data).span()); }, "data"_a,
      "The 64-bit checksum that containers keep beside the hash of a section.");
  m.def("cbor_encode", encode, "value"_a.none(),
        "The deterministic CBOR of None, bool, int, float, str, bytes, list, tuple and dict with str keys.");
  m.def("cbor_decode", decode, "data"_a, "The inverse of cbor_encode; FormatError for anything else.");
}

void bind_reader(nb::module_& m) {
  nb::class_<ContainerReader>(m, "ContainerReader",
                              "A checked container from a path or bytes; FormatError if it is damaged, of a kind not "
                              "in `kinds` or longer than max_bytes, ParameterMismatchError for other parameters.")
      .def(
          "__init__",
          [](ContainerReader* self, nb::object source, const std::vector<std::uint16_t>& kinds,
             const std::optional<nb::bytes>& parameters, std::optional<std::uint64_t> max_bytes) {
            new (self) ContainerReader(open_container(std::move(source), kinds, parameters, max_bytes));
          },
          "source"_a, "kinds"_a, "parameters"_a = nb::none(), "max_bytes"_a = nb::none())
      .def_prop_ro("kind", [](const ContainerReader& self) { return self.reader.kind(); })
      .def_prop_ro("minor_version", [](const ContainerReader& self) { return self.reader.minor_version(); })
      .def_prop_ro("header", [](const ContainerReader& self) { return to_python(self.reader.header().value()); })
      .def_prop_ro("parameters", [](const ContainerReader& self) { return to_bytes(self.reader.parameters()); })
      .def_prop_ro("num_sections", [](const ContainerReader& self) { return self.reader.num_sections(); })
      .def("section", section_bytes, "i"_a, "The bytes of the i-th section, verified by their hash.")
      .def(
          "section_kind", [](const ContainerReader& self, std::size_t i) { return self.reader.section_info(i).kind; },
          "i"_a)
      .def(
          "section_bytes", [](const ContainerReader& self, std::size_t i) { return self.reader.section_info(i).bytes; },
          "i"_a, "The length of the i-th section.")
      .def(
          "find",
          [](const ContainerReader& self, std::uint16_t kind, std::uint32_t index) {
            return self.reader.find(kind, index);
          },
          "kind"_a, "index"_a = 0, "Which section is the index-th of its kind.")
      .def(
          "num_rows", [](const ContainerReader& self, std::size_t i) { return self.reader.num_rows(i); }, "i"_a,
          "Rows of the i-th section; 0 if it has none.")
      .def("row", row_bytes, "i"_a, "row"_a, "The bytes of one row, verified.")
      .def_prop_ro(
          "touched_bytes", [](const ContainerReader& self) { return self.reader.touched_bytes(); },
          "Bytes of heads, tables, rows and sections looked at so far, again each time.")
      .def("verify_all", [](const ContainerReader& self) {
        nb::gil_scoped_release released;
        self.reader.verify_all();
      });
}

void bind_writer(nb::module_& m) {
  nb::class_<Writer>(m, "ContainerWriter",
                     "Writes a container piece by piece: (kind, bytes) of every section are declared first, for one of "
                     "rows (kind, [bytes of each row]). To a path, where it appears at commit(), durable and all or "
                     "nothing; or to memory if the path is None.")
      .def(
          "__init__",
          [](Writer* self, nb::handle path, std::uint16_t kind, nb::handle parameters, const nb::dict& header,
             const std::vector<std::pair<std::uint16_t, nb::object>>& sections) {
            new (self) Writer(make_writer(path, kind, parameters, header, declarations(sections)));
          },
          "path"_a.none(), "kind"_a, "parameters"_a, "header"_a, "sections"_a)
      .def("write", write_piece, "piece"_a, "Append to the first section that is not complete yet.")
      .def("commit", commit, "Finish; returns the bytes of a container in memory, None for a file.");
  m.def("write_container", write_container, "path"_a.none(), "kind"_a, "parameters"_a, "header"_a, "sections"_a,
        "Write a container of (kind, bytes-like) sections, a list of bytes-likes being rows: to a path, durably and "
        "all or nothing, or as the bytes "
        "returned if the path is None.");
}

}  // namespace

void bind_io(nb::module_& m) {
  bind_hashes(m);
  nb::enum_<FileKind>(m, "FileKind", nb::is_arithmetic(), "What a container holds.")
      .value("PLAN", FileKind::kPlan)
      .value("CLIENT", FileKind::kClient)
      .value("SECRET_KEY", FileKind::kSecretKey)
      .value("PUBLIC_KEY", FileKind::kPublicKey)
      .value("EVALUATION_KEYS", FileKind::kEvaluationKeys)
      .value("CIPHERTEXTS", FileKind::kCiphertexts)
      .value("PLAINTEXTS", FileKind::kPlaintexts)
      .value("PREPARED", FileKind::kPrepared);
  bind_writer(m);
  m.def(
      "write_file_atomic",
      [](nb::handle path, nb::handle data, unsigned mode, bool unnamed) {
        const std::string file = to_path(path);
        const BytesView view(data);
        nb::gil_scoped_release released;
        write_file_atomic(file, view.span(), static_cast<mode_t>(mode), unnamed);
      },
      "path"_a, "data"_a, "mode"_a = 0644, "unnamed"_a = true,
      "Write a file that appears under its name complete and durable, or never; without a name until then, if unnamed "
      "and the system can. Replaces regular files only.");
  m.def(
      "require_replaceable", [](nb::handle path) { require_replaceable(to_path(path)); }, "path"_a,
      "OSError if something else than a regular file is there: a folder, a link, a pipe, a device.");
  m.def(
      "remove_leftovers", [](nb::handle folder) { return remove_leftovers(to_path(folder)); }, "folder"_a,
      "Remove what ended processes of this user left of files that they were writing; the names.");
  bind_reader(m);
}

}  // namespace lw
