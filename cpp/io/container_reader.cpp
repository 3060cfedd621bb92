#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "io/container.hpp"
#include "io/container_layout.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

constexpr const char* kCopyAgain = "; the file is truncated or was altered, copy it again";

/// One pass over everything in front of the sections, and over the gaps between them.
class HeadCheck {
 public:
  HeadCheck(std::span<const std::uint8_t> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Prologue prologue(const Expected& expected) const {
    check_bytes("prologue", kPrologueBytes);
    if (!std::equal(std::begin(kMagic), std::end(kMagic), bytes_.begin())) {
      fail("the first 8 bytes are not \"LATTICE\\n\"; this is not a latticework file, or it was altered");
    }
    const Prologue p = load_prologue(bytes_);
    if (p.major < kOldestMajor || p.major > kNewestMajor) {
      fail("the file has format version " + std::to_string(p.major) + "." + std::to_string(p.minor) +
           ", this build reads versions " + std::to_string(kOldestMajor) + ".0 to " + std::to_string(kNewestMajor) +
           ".x; use a version of latticework that knows it");
    }
    check_sizes(p);
    const std::span<const std::uint8_t> head = bytes_.first(p.head_bytes());
    if (hash_of_head(head) != p.header_hash) {
      altered("prologue, header and section table do not match their hash");
    }
    if (p.reserved != Hash{} || p.flags != 0) altered("reserved bytes of the prologue are not zero");
    check_expected(p, expected);
    return p;
  }

  cbor::Value header(const Prologue& p) const {
    cbor::Value header;
    try {
      cbor::Limits limits;
      limits.max_values = kMaxHeaderValues;
      header = cbor::decode(bytes_.subspan(kPrologueBytes, p.header_bytes), limits);
    } catch (const Error& error) {
      altered(std::string("header: ") + error.what());
    }
    if (header.get_if<cbor::Map>() == nullptr) altered("the header is not a map");
    return header;
  }

  std::vector<Section> sections(const Prologue& p) const {
    std::vector<Section> sections;
    std::map<std::uint16_t, std::uint32_t> next_index;
    std::uint64_t end = p.head_bytes();
    for (std::uint32_t i = 0; i < p.section_count; ++i) {
      const std::string label = "section " + std::to_string(i);
      const std::uint64_t entry = kPrologueBytes + p.header_bytes + i * kSectionEntryBytes;
      std::uint16_t flags = 0;
      const Section section = load_section(bytes_.subspan(entry), flags);
      const std::uint16_t known = p.major >= kRowsMajor ? kHasRows : 0;
      if (flags > known) {
        altered(label + " has flags " + std::to_string(flags) + ", expected at most " + std::to_string(known));
      }
      const std::uint32_t index = next_index[section.kind]++;
      if (section.index != index) altered(label, "index", index, section.index);
      std::uint64_t offset = 0;
      if (!align_section(end, offset) || section.offset != offset) altered(label, "offset", offset, section.offset);
      const std::uint64_t gap = end;
      if (!end_of_section(offset, section.bytes, end) || end > bytes_.size()) {
        altered(label + " at byte " + std::to_string(offset) + " has " + std::to_string(section.bytes) +
                " bytes, the file ends at byte " + std::to_string(bytes_.size()));
      }
      check_zero(gap, offset);
      sections.push_back(section);
    }
    if (end != bytes_.size()) {
      altered("the last section ends at byte " + std::to_string(end) + ", the file at byte " +
              std::to_string(bytes_.size()));
    }
    return sections;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(ErrorKind::kFormat, name_ + ": " + what); }
  [[noreturn]] void altered(const std::string& what) const { fail(what + kCopyAgain); }
  [[noreturn]] void altered(const std::string& label, const char* field, std::uint64_t expected,
                            std::uint64_t found) const {
    altered(label + ": expected " + field + " " + std::to_string(expected) + ", found " + std::to_string(found));
  }

  void check_bytes(const char* what, std::uint64_t needed) const {
    if (bytes_.size() < needed) {
      altered(std::string(what) + ": expected at least " + std::to_string(needed) + " bytes, the file has " +
              std::to_string(bytes_.size()));
    }
  }

  void check_sizes(const Prologue& p) const {
    if (p.total_bytes != bytes_.size()) {
      altered("the prologue announces " + std::to_string(p.total_bytes) + " bytes, the file has " +
              std::to_string(bytes_.size()));
    }
    const HeadLimits limits = head_limits(p.major);
    if (p.header_bytes > limits.header_bytes) {
      altered("the header has " + std::to_string(p.header_bytes) + " bytes, expected at most " +
              std::to_string(limits.header_bytes));
    }
    if (p.section_count > limits.sections) {
      altered("the file has " + std::to_string(p.section_count) + " sections, expected at most " +
              std::to_string(limits.sections));
    }
    check_bytes("header and section table", p.head_bytes());
  }

  void check_expected(const Prologue& p, const Expected& expected) const {
    const FileKind kind = static_cast<FileKind>(p.kind);
    if (kind < FileKind::kPlan || kind > FileKind::kPrepared) {
      fail("the file kind " + std::to_string(p.kind) + " is unknown; this build knows kinds 1 to 8");
    }
    if (std::find(expected.kinds.begin(), expected.kinds.end(), kind) == expected.kinds.end()) {
      std::string wanted;
      for (const FileKind k : expected.kinds) wanted += (wanted.empty() ? "" : " or ") + to_string(k);
      fail("expected " + wanted + ", got " + to_string(kind) + "; check which file goes where");
    }
    if (expected.parameters && *expected.parameters != p.parameters) {
      throw Error(ErrorKind::kParameterMismatch,
                  name_ + ": the file belongs to parameters " + first_bytes(p.parameters) + ", expected " +
                      first_bytes(*expected.parameters) + "; use files made for the same compiled program");
    }
  }

  static std::string first_bytes(const Hash& hash) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < 8; ++i) {
      text += kDigits[hash[i] >> 4];
      text += kDigits[hash[i] & 15];
    }
    return text;
  }

  void check_zero(std::uint64_t begin, std::uint64_t end) const {
    for (std::uint64_t i = begin; i < end; ++i) {
      if (bytes_[i] != 0) altered("byte " + std::to_string(i) + " between sections is not zero");
    }
  }

  std::span<const std::uint8_t> bytes_;
  const std::string& name_;
};

}  // namespace

/// The rows of a section: their offsets, the hashes that they were verified with, and which of them were looked at.
/// Nothing is believed of the file again once its table is verified: another file may lie there by then, valid in
/// itself.
struct Reader::RowTable {
  explicit RowTable(std::size_t num_rows)
      : starts(num_rows + 1), entries(num_rows), verified(std::make_unique<std::atomic<bool>[]>(num_rows)) {}

  std::vector<std::uint64_t> starts;  // in the file; one more than rows
  std::vector<RowEntry> entries;
  std::unique_ptr<std::atomic<bool>[]> verified;
};

Reader::Reader(std::span<const std::uint8_t> bytes, std::string name, const Expected& expected)
    : bytes_(bytes), name_(std::make_unique<const std::string>(std::move(name))) {
  if (bytes.size() > expected.max_bytes) {
    throw Error(ErrorKind::kFormat, *name_ + ": there are " + std::to_string(bytes.size()) + " bytes, at most " +
                                        std::to_string(expected.max_bytes) + " are accepted here");
  }
  const HeadCheck check(bytes_, *name_);
  const Prologue prologue = check.prologue(expected);
  sections_ = check.sections(prologue);
  header_ = std::make_unique<const cbor::Value>(check.header(prologue));
  kind_ = static_cast<FileKind>(prologue.kind);
  minor_ = prologue.minor;
  parameters_ = prologue.parameters;
  verified_ = std::make_unique<std::atomic<bool>[]>(sections_.size());
  rows_ = std::vector<OnceMade<RowTable>>(sections_.size());
  touch(prologue.head_bytes());
}

Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Reader Reader::open(const std::string& path, const Expected& expected) {
  MappedFile file(path, expected.max_bytes);
  Reader reader(file.bytes(), path, expected);
  reader.file_ = std::move(file);
  return reader;
}

Reader Reader::view(std::span<const std::uint8_t> bytes, std::string name, const Expected& expected) {
  return Reader(bytes, std::move(name), expected);
}

std::size_t Reader::find(std::uint16_t kind, std::uint32_t index) const {
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (sections_[i].kind == kind && sections_[i].index == index) return i;
  }
  throw Error(ErrorKind::kFormat, *name_ + ": expected more than " + std::to_string(index) + " sections of kind " +
                                      std::to_string(kind) + ", found " + std::to_string(count(kind)));
}

std::size_t Reader::count(std::uint16_t kind) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(sections_.begin(), sections_.end(), [kind](const Section& s) { return s.kind == kind; }));
}

const Section& Reader::place(std::size_t i) const {
  if (i < sections_.size()) return sections_[i];
  throw Error(ErrorKind::kFormat, *name_ + ": there is no section " + std::to_string(i) + ", the file has " +
                                      std::to_string(sections_.size()));
}

void Reader::fail_section(std::size_t i, const std::string& what) const {
  throw Error(ErrorKind::kFormat, *name_ + ": section " + std::to_string(i) + " (" +
                                      std::to_string(sections_[i].bytes) + " bytes at byte " +
                                      std::to_string(sections_[i].offset) + ") " + what + kCopyAgain);
}

std::span<const std::uint8_t> Reader::section(std::size_t i) const {
  const Section& section = place(i);
  if (section.has_rows) {
    const RowTable& rows = rows_of(i);
    will_need(i, 0, rows.starts.size() - 1);
    for (std::size_t row = 0; row + 1 < rows.starts.size(); ++row) {
      if (!row_is_intact(i, row)) fail_section(i, "has a row " + std::to_string(row) + " that does not match its hash");
    }
    return bytes_.subspan(rows.starts.front(), rows.starts.back() - rows.starts.front());
  }
  const auto content = bytes_.subspan(section.offset, section.bytes);
  file_.check_size();
  touch(content.size());
  const bool is_new = !verified_[i].load(std::memory_order_acquire);
  if (is_new) file_.will_need(section.offset, section.bytes);
  if (is_new && blake3(content) != section.hash) fail_section(i, "does not match its hash");
  if (fast_sum(content) != section.sum) fail_section(i, "does not match its hash");
  verified_[i].store(true, std::memory_order_release);
  return content;
}

void Reader::verify_all() const {
  for (std::size_t i = 0; i < sections_.size(); ++i) (void)section(i);
}

const Reader::RowTable& Reader::rows_of(std::size_t i) const {
  return rows_[i].get([&] { return read_rows(i); });
}

std::unique_ptr<Reader::RowTable> Reader::read_rows(std::size_t i) const {
  const Section& section = sections_[i];
  const auto content = bytes_.subspan(section.offset, section.bytes);
  file_.check_size();
  std::uint64_t num_rows = 0;
  if (content.size() >= kRowCountBytes) std::memcpy(&num_rows, content.data(), kRowCountBytes);
  const auto table_bytes = row_table_bytes(num_rows, content.size());
  if (num_rows == 0 || !table_bytes)
    fail_section(i, "has no room for a table of " + std::to_string(num_rows) + " rows");
  const std::vector<std::uint8_t> copy(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(*table_bytes));
  const std::span<const std::uint8_t> table = copy;
  std::memcpy(&num_rows, table.data(), kRowCountBytes);
  if (row_table_bytes(num_rows, content.size()) != table_bytes) fail_section(i, "changes while it is read");
  touch(table.size());
  if (blake3(table) != section.hash || fast_sum(table) != section.sum) {
    fail_section(i, "has a row table that does not match its hash");
  }
  auto rows = std::make_unique<RowTable>(num_rows);
  std::uint64_t start = *table_bytes;
  for (std::size_t row = 0; row < num_rows; ++row) {
    rows->entries[row] = load_row(table.subspan(kRowCountBytes + row * kRowEntryBytes));
    const std::uint64_t bytes = rows->entries[row].bytes;
    if (bytes == 0 || bytes % kRowAlignment != 0 || bytes > content.size() - start) {
      fail_section(i, "has a row " + std::to_string(row) + " of " + std::to_string(bytes) + " bytes");
    }
    rows->starts[row] = section.offset + start;
    start += bytes;
  }
  rows->starts[num_rows] = section.offset + start;
  if (start != content.size()) {
    fail_section(i, "has " + std::to_string(content.size() - start) + " bytes behind its rows");
  }
  for (std::uint64_t at = kRowCountBytes + num_rows * kRowEntryBytes; at < table.size(); ++at) {
    if (table[at] != 0) fail_section(i, "has a byte between table and rows that is not zero");
  }
  return rows;
}

std::size_t Reader::num_rows(std::size_t i) const { return place(i).has_rows ? rows_of(i).starts.size() - 1 : 0; }

std::span<const std::uint8_t> Reader::unverified_row(std::size_t i, std::size_t row) const {
  if (row >= num_rows(i)) {
    fail_section(i, "has " + std::to_string(num_rows(i)) + " rows, there is no row " + std::to_string(row));
  }
  const RowTable& rows = rows_of(i);
  return bytes_.subspan(rows.starts[row], rows.starts[row + 1] - rows.starts[row]);
}

bool Reader::row_is_intact(std::size_t i, std::size_t row) const {
  const auto content = unverified_row(i, row);
  file_.check_size();
  return is_written(i, row, content, fast_sum(content));
}

bool Reader::read_row(std::size_t i, std::size_t row, std::span<std::uint8_t> to) const {
  const auto content = unverified_row(i, row);
  if (to.size() != content.size()) fail_section(i, "has a row " + std::to_string(row) + " of another size");
  if (!file_.bytes().empty()) return file_.read_at(rows_of(i).starts[row], to);
  std::copy(content.begin(), content.end(), to.begin());
  return true;
}

bool Reader::is_written(std::size_t i, std::size_t row, std::span<const std::uint8_t> content,
                        std::uint64_t sum) const {
  touch(content.size());
  const RowEntry& expected = rows_of(i).entries[row];
  std::atomic<bool>& verified = rows_of(i).verified[row];
  if (!verified.load(std::memory_order_acquire) && blake3(content) != expected.hash) return false;
  if (sum != expected.sum) return false;
  verified.store(true, std::memory_order_release);
  return true;
}

void Reader::will_need(std::size_t i, std::size_t first, std::size_t count) const {
  if (first > num_rows(i) || count > num_rows(i) - first) fail_section(i, "has no such rows");
  const std::vector<std::uint64_t>& starts = rows_of(i).starts;
  file_.will_need(starts[first], starts[first + count] - starts[first]);
}

}  // namespace lw
