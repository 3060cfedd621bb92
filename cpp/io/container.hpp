// The container: the one binary file format, for plans, keys and ciphertexts.
//
//   offset  bytes  prologue, little endian
//   0       8      magic "LATTICE\n"
//   8       2+2    major, minor version
//   12      2+2    file kind, flags (0)
//   16      4+4    header bytes (at most 64 KiB), number of sections (at most 4096)
//   24      8      bytes of the whole file
//   32      32     fingerprint of the parameters, zero if there are none
//   64      32     BLAKE3 of bytes 0..63, the header and the section table
//   96      32     reserved (0)
//   128     ...    header: deterministic CBOR, a map with text keys
//           64 *   section table: kind 2, flags 2 (0), index 4, offset 8, bytes 8, fast_sum 8, BLAKE3 32
//           ...    sections, each at the next multiple of 4096; the file ends with the last one
//
// A section's index counts the sections of its kind. Bytes between sections
// are zero and are checked, so that no bit of a file can change unnoticed.
// Everything is computed and compared, and nothing allocated, from what a file
// claims. A higher minor version only adds sections and header keys that may
// be ignored; whatever may not be ignored raises the major version.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/cbor.hpp"
#include "io/cbor_field.hpp"
#include "io/fast_sum.hpp"
#include "io/file.hpp"
#include "math/blake3.hpp"

namespace lw {

enum class FileKind : std::uint16_t {
  kPlan = 1,
  kClient = 2,
  kSecretKey = 3,
  kPublicKey = 4,
  kEvaluationKeys = 5,
  kCiphertexts = 6,
};
/// With its article: "a client file". Throws lw::Error(kValue) for a number that is no kind.
std::string to_string(FileKind kind);

struct Section {
  std::uint16_t kind = 0;
  std::uint32_t index = 0;  // among the sections of its kind
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;  // fast_sum of the bytes
  Hash hash{};
};

/// Writes one container, in order, without holding it: all sizes are declared first, then the bytes of
/// the sections follow in pieces of any length. The file appears under its name at commit(), complete and
/// durable, or never. A secret key gets mode 0600, other kinds 0644 less the umask.
class Writer {
 public:
  struct Declared {
    std::uint16_t kind;
    std::uint64_t bytes;
  };

  /// To a file. Throws IoError, also if there is no room for all of it; lw::Error(kValue) past the format's limits.
  Writer(const std::string& path, FileKind kind, const Hash& parameters, const cbor::Map& header,
         std::span<const Declared> sections);
  /// To memory: commit() returns the bytes.
  Writer(FileKind kind, const Hash& parameters, const cbor::Map& header, std::span<const Declared> sections);

  /// Appends to the first section that is not complete yet; a piece may not go past its end.
  void write(std::span<const std::uint8_t> piece);
  /// Once. Throws lw::Error(kValue) if a section is not complete. The bytes of the file are returned if they are in
  /// memory.
  std::vector<std::uint8_t> commit();

 private:
  void put(std::uint64_t offset, std::span<const std::uint8_t> bytes);
  void finish_sections();

  FileKind kind_;
  Hash parameters_;
  std::vector<std::uint8_t> header_;
  std::vector<Section> sections_;
  std::uint64_t total_bytes_ = 0;
  std::unique_ptr<AtomicFile> file_;
  std::vector<std::uint8_t> memory_;
  std::size_t current_ = 0;    // section being written
  std::uint64_t written_ = 0;  // bytes of it so far
  Blake3 hasher_;
  FastSum sum_;
  bool committed_ = false;
};

/// What the reader of a file insists on.
struct Expected {
  std::vector<FileKind> kinds = {};               // any of these; at least one
  std::optional<Hash> parameters = std::nullopt;  // their fingerprint
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
};

/// A checked container. Opening verifies everything but the contents of the sections; each section is
/// verified by its hash when it is first asked for. Safe to share between threads. Move only.
/// Errors are lw::Error(kFormat), kParameterMismatch for other parameters, IoError.
class Reader {
 public:
  static Reader open(const std::string& path, const Expected& expected);
  /// `bytes` must outlive the reader; `name` is what messages call them.
  static Reader view(std::span<const std::uint8_t> bytes, std::string name, const Expected& expected);
  Reader(Reader&&) noexcept = default;
  Reader& operator=(Reader&&) noexcept = default;

  const std::string& name() const noexcept { return *name_; }
  FileKind kind() const noexcept { return kind_; }
  std::uint16_t minor_version() const noexcept { return minor_; }
  const Hash& parameters() const noexcept { return parameters_; }
  /// A map; valid while the reader lives, moved or not.
  cbor::Field header() const noexcept { return cbor::Field(*header_, *name_); }

  std::size_t num_sections() const noexcept { return sections_.size(); }
  const Section& section_info(std::size_t i) const { return sections_.at(i); }
  /// Place of the index-th section of a kind in the file; throws if there is none.
  std::size_t find(std::uint16_t kind, std::uint32_t index = 0) const;
  std::size_t count(std::uint16_t kind) const noexcept;
  /// The verified bytes of a section, mapped, 4096-aligned in a file; valid while the reader lives.
  std::span<const std::uint8_t> section(std::size_t i) const;
  void verify_all() const;

 private:
  Reader(std::span<const std::uint8_t> bytes, std::string name, const Expected& expected);

  MappedFile file_;
  std::span<const std::uint8_t> bytes_;
  std::unique_ptr<const std::string> name_;
  FileKind kind_{};
  std::uint16_t minor_ = 0;
  Hash parameters_{};
  std::unique_ptr<const cbor::Value> header_;
  std::vector<Section> sections_;
  std::unique_ptr<std::atomic<bool>[]> verified_;
};

}  // namespace lw
