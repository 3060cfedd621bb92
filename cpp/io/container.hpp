// The container: the one binary file format, for plans, keys and ciphertexts.
//
//   offset  bytes  prologue, little endian
//   0       8      magic "LATTICE\n"
//   8       2+2    major, minor version
//   12      2+2    file kind, flags (0)
//   16      4+4    header bytes (at most 64 KiB), number of sections (at most 4096); from version 3.0 on 4 MiB and
//   65536 24      8      bytes of the whole file 32      32     fingerprint of the parameters, zero if there are none
//   64      32     BLAKE3 of bytes 0..63, the header and the section table
//   96      32     reserved (0)
//   128     ...    header: deterministic CBOR, a map with text keys
//           64 *   section table: kind 2, flags 2, index 4, offset 8, bytes 8, fast_sum 8, BLAKE3 32
//           ...    sections, each at the next multiple of 4096; the file ends with the last one
//
// A section's index counts the sections of its kind. Bytes between sections
// are zero and are checked, so that no bit of a file can change unnoticed.
// Everything is computed and compared, and nothing allocated, from what a file
// claims. A higher minor version only adds sections and header keys that may
// be ignored; whatever may not be ignored raises the major version.
//
// A section with flags 1 (from version 2.0 on) is made of rows that are read and verified one by one:
//
//   0       8      number of rows (at least 1)
//   8       48 *   row table: bytes 8 (a positive multiple of 64), fast_sum 8, BLAKE3 32
//           ...    zeros up to a multiple of 64, then the rows, one directly after another
//
// Its fast_sum and hash in the section table are those of everything in front of its rows, so that the head of the
// file commits to every row. A file is written as the lowest version that can hold it: 1.0 without such sections, 2.0
// with a small head.
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
#include "io/file.hpp"
#include "io/partial_file.hpp"
#include "math/blake3.hpp"
#include "math/fast_sum.hpp"

namespace lw {

enum class FileKind : std::uint16_t {
  kPlan = 1,
  kClient = 2,
  kSecretKey = 3,
  kPublicKey = 4,
  kEvaluationKeys = 5,
  kCiphertexts = 6,
  kPlaintexts = 7,
  kPrepared = 8,
};
inline constexpr std::uint16_t kLargeMajor = 3;  // the version with large heads
/// Whether a header and as many sections can be written without it.
bool has_small_head(const cbor::Map& header, std::size_t num_sections);

/// The name of a kind of file, with its article: "a client file". Throws lw::Error(kValue) for a number that is no
/// kind.
std::string to_string(FileKind kind);

struct Section {
  std::uint16_t kind = 0;
  bool has_rows = false;
  std::uint32_t index = 0;  // among the sections of its kind
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;  // fast_sum of the bytes, or of the row table
  Hash hash{};
};

/// Writes one container, in order, without holding it: all sizes are declared first, then the bytes of
/// the sections follow in pieces of any length. The file appears under its name at commit(), complete and
/// durable, or never. A secret key gets mode 0600, other kinds 0644 less the umask.
class Writer {
 public:
  struct Declared {
    std::uint16_t kind;
    std::uint64_t bytes;                        // as they will be written
    std::vector<std::uint64_t> row_bytes = {};  // of a section of rows: multiples of 64 that add up to `bytes`
  };

  /// Writes to a file, or without a path to memory. `oldest` is the major version that its content needs. Throws
  /// IoError, also if there is no room for all of it; lw::Error(kValue) past the format's limits.
  Writer(const std::optional<std::string>& path, FileKind kind, const Hash& parameters, const cbor::Map& header,
         std::span<const Declared> sections, std::uint16_t oldest = 1);
  /// Writes to a file whose room on the disk is the caller's business.
  Writer(std::shared_ptr<OutputFile> file, FileKind kind, const Hash& parameters, const cbor::Map& header,
         std::span<const Declared> sections, std::uint16_t oldest = 1);

  /// The size of the whole file in bytes.
  std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  /// The entry of section i in the table: where it lies; its sum and hash once it is complete.
  const Section& section(std::size_t i) const { return sections_.at(i); }
  /// Puts another header in the place of the first. Throws lw::Error(kValue) unless it is as long.
  void set_header(const cbor::Map& header);
  /// Passes over the first section that is not complete, of which no byte was written: the file has it, with this sum
  /// and hash, from an earlier writer.
  void skip(std::uint64_t sum, const Hash& hash);
  /// Appends to the first section that is not complete yet; a piece may not go past its end.
  void write(std::span<const std::uint8_t> piece);
  /// Once. Throws lw::Error(kValue) if a section is not complete. The bytes of the file are returned if they are in
  /// memory.
  std::vector<std::uint8_t> commit();

 private:
  Writer(FileKind kind, const Hash& parameters, const cbor::Map& header, std::span<const Declared> sections,
         std::uint16_t oldest);
  void put(std::uint64_t offset, std::span<const std::uint8_t> bytes);
  void next_section() noexcept;
  void finish_pieces();
  void finish_piece(std::uint64_t& sum, Hash& hash);
  void start_rows(std::uint64_t num_rows);

  FileKind kind_;
  std::uint16_t major_;
  Hash parameters_;
  std::vector<std::uint8_t> header_;
  std::vector<Section> sections_;
  std::uint64_t total_bytes_ = 0;
  std::shared_ptr<OutputFile> file_;
  std::vector<std::uint8_t> memory_;
  std::vector<std::vector<std::uint64_t>> row_bytes_;  // by section; empty for one without rows
  std::size_t current_ = 0;                            // section being written
  std::uint64_t piece_start_ = 0;                      // where its current row starts, or it does
  std::uint64_t written_ = 0;                          // bytes of that so far
  std::size_t rows_done_ = 0;                          // of the section
  std::vector<std::uint8_t> table_;                    // of these rows
  Blake3 hasher_;
  FastSum sum_;
  bool committed_ = false;
};

/// Whether an unfinished file holds the section of rows with this place and hash: its row table, and then every row.
bool holds_rows(const PartialFile& file, const Section& section);

/// The kind and parameters that the reader of a file insists on.
struct Expected {
  std::vector<FileKind> kinds = {};               // any of these; at least one
  std::optional<Hash> parameters = std::nullopt;  // their fingerprint
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
};

/// Owns something that is made when first needed, by whichever thread comes first; no thread waits for another.
template <typename T>
class OnceMade {
 public:
  OnceMade() = default;
  OnceMade(OnceMade&& other) noexcept : made_(other.made_.exchange(nullptr)) {}
  OnceMade& operator=(OnceMade&&) = delete;
  ~OnceMade() { delete made_.load(); }

  template <typename Make>
  const T& get(Make&& make) const {
    if (const T* made = made_.load(std::memory_order_acquire)) return *made;
    std::unique_ptr<const T> fresh = make();
    const T* current = nullptr;
    if (made_.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
    return *current;
  }

 private:
  mutable std::atomic<const T*> made_ = nullptr;
};

/// A checked container. Opening verifies everything but the contents of the sections; each section, or each row of
/// one, is verified by its hash when it is first asked for. Safe to share between threads. Move only.
/// Errors are lw::Error(kFormat), kParameterMismatch for other parameters, IoError.
class Reader {
 public:
  static Reader open(const std::string& path, const Expected& expected);
  /// `bytes` must outlive the reader; `name` is what messages call them.
  static Reader view(std::span<const std::uint8_t> bytes, std::string name, const Expected& expected);
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  const std::string& name() const noexcept { return *name_; }
  /// The open file; -1 for a view of memory.
  int descriptor() const noexcept { return file_.descriptor(); }
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
  /// The verified bytes of a section (of all its rows, if it has rows), mapped, 64-aligned in a file; valid while the
  /// reader lives.
  std::span<const std::uint8_t> section(std::size_t i) const;
  void verify_all() const;

  /// Rows of a section that has rows, else 0. Verifies the row table.
  std::size_t num_rows(std::size_t i) const;
  /// One row, not verified. Throws lw::Error(kFormat) if there is no such row.
  std::span<const std::uint8_t> unverified_row(std::size_t i, std::size_t row) const;
  /// Whether a row is what was written: by its hash when asked for the first time, by its fast_sum after that.
  bool row_is_intact(std::size_t i, std::size_t row) const;
  /// Copies a row, not verified, so that what is used is what is_written() judges, whatever becomes of the file. `to`
  /// is as long as the row. False if the system had to wait for the disk.
  bool read_row(std::size_t i, std::size_t row, std::span<std::uint8_t> to) const;
  /// row_is_intact() of a copy, whose fast_sum is `sum`.
  bool is_written(std::size_t i, std::size_t row, std::span<const std::uint8_t> content, std::uint64_t sum) const;
  /// Rows [first, first + count) will be asked for soon: the system may start to read them.
  void will_need(std::size_t i, std::size_t first, std::size_t count) const;

  /// Bytes of heads, row tables, rows and sections looked at so far, again each time.
  std::uint64_t touched_bytes() const noexcept { return touched_->load(std::memory_order_relaxed); }

 private:
  struct RowTable;
  Reader(std::span<const std::uint8_t> bytes, std::string name, const Expected& expected);
  const Section& place(std::size_t i) const;
  const RowTable& rows_of(std::size_t i) const;
  std::unique_ptr<RowTable> read_rows(std::size_t i) const;
  void touch(std::uint64_t bytes) const noexcept { touched_->fetch_add(bytes, std::memory_order_relaxed); }
  [[noreturn]] void fail_section(std::size_t i, const std::string& what) const;

  MappedFile file_;
  std::span<const std::uint8_t> bytes_;
  std::unique_ptr<const std::string> name_;
  FileKind kind_{};
  std::uint16_t minor_ = 0;
  Hash parameters_{};
  std::unique_ptr<const cbor::Value> header_;
  std::vector<Section> sections_;
  std::unique_ptr<std::atomic<bool>[]> verified_;
  std::vector<OnceMade<RowTable>> rows_;
  std::unique_ptr<std::atomic<std::uint64_t>> touched_ = std::make_unique<std::atomic<std::uint64_t>>(0);
};

}  // namespace lw
