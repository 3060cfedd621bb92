#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "io/container.hpp"
#include "io/container_layout.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::kValue, "container: " + what); }

std::size_t count_values(const cbor::Value& value) {
  std::size_t count = 1;
  if (const cbor::Array* array = value.get_if<cbor::Array>()) {
    for (const cbor::Value& item : *array) count += count_values(item);
  } else if (const cbor::Map* map = value.get_if<cbor::Map>()) {
    for (const cbor::Entry& entry : *map) count += count_values(entry.value);
  }
  return count;
}

std::vector<std::uint8_t> encode_header(const cbor::Map& header) {
  std::vector<std::uint8_t> bytes = cbor::encode(header);
  if (bytes.size() > kLargeHead.header_bytes) {
    refuse("the header has " + std::to_string(bytes.size()) + " bytes, at most " +
           std::to_string(kLargeHead.header_bytes) + " are allowed; move large items to sections");
  }
  if (const std::size_t values = count_values(header); values > kMaxHeaderValues) {
    refuse("the header has " + std::to_string(values) + " values, at most " + std::to_string(kMaxHeaderValues) +
           " are allowed; move large items to sections");
  }
  return bytes;
}

bool is_small(std::uint64_t header_bytes, std::size_t num_sections) {
  return header_bytes <= kSmallHead.header_bytes && num_sections <= kSmallHead.sections;
}

/// Bytes in front of the rows of a section, which must fit what is declared.
std::uint64_t table_bytes_of(const Writer::Declared& declared, std::size_t i) {
  std::uint64_t left = declared.bytes;
  for (const std::uint64_t bytes : declared.row_bytes) {
    if (bytes == 0 || bytes % kRowAlignment != 0 || bytes > left) {
      refuse("section " + std::to_string(i) + " has a row of " + std::to_string(bytes) +
             " bytes; rows are multiples of 64 bytes that add up to those of the section");
    }
    left -= bytes;
  }
  if (left != 0) refuse("section " + std::to_string(i) + " has " + std::to_string(left) + " bytes behind its rows");
  return *row_table_bytes(declared.row_bytes.size(), std::numeric_limits<std::uint64_t>::max());
}

/// The table of contents, but for sums and hashes; `end` becomes the size of the file.
std::vector<Section> lay_out(std::span<const Writer::Declared> declared, std::uint64_t header_bytes,
                             std::uint64_t& end) {
  if (declared.size() > kLargeHead.sections) {
    refuse(std::to_string(declared.size()) + " sections, at most " + std::to_string(kLargeHead.sections) +
           " are allowed; put more into each");
  }
  std::vector<Section> sections(declared.size());
  std::map<std::uint16_t, std::uint32_t> next_index;
  end = kPrologueBytes + header_bytes + kSectionEntryBytes * declared.size();
  for (std::size_t i = 0; i < sections.size(); ++i) {
    Section& section = sections[i];
    section.kind = declared[i].kind;
    section.index = next_index[section.kind]++;
    section.bytes = declared[i].bytes;
    section.has_rows = !declared[i].row_bytes.empty();
    if (section.has_rows) section.bytes += table_bytes_of(declared[i], i);
    if (!align_section(end, section.offset) || !end_of_section(section.offset, section.bytes, end)) {
      refuse("section " + std::to_string(i) + " of " + std::to_string(section.bytes) + " bytes ends past 2^63");
    }
  }
  return sections;
}

}  // namespace

bool has_small_head(const cbor::Map& header, std::size_t num_sections) {
  return is_small(cbor::encode(header).size(), num_sections);
}

Writer::Writer(FileKind kind, const Hash& parameters, const cbor::Map& header, std::span<const Declared> sections,
               std::uint16_t oldest)
    : kind_(kind), major_(oldest), parameters_(parameters), header_(encode_header(header)) {
  sections_ = lay_out(sections, header_.size(), total_bytes_);
  for (const Section& section : sections_) major_ = std::max(major_, section.has_rows ? kRowsMajor : kOldestMajor);
  if (!is_small(header_.size(), sections_.size())) major_ = std::max(major_, kLargeMajor);
  for (const Declared& section : sections) row_bytes_.push_back(section.row_bytes);
}

Writer::Writer(const std::optional<std::string>& path, FileKind kind, const Hash& parameters, const cbor::Map& header,
               std::span<const Declared> sections, std::uint16_t oldest)
    : Writer(kind, parameters, header, sections, oldest) {
  if (path) {
    const bool is_secret = kind == FileKind::kSecretKey;  // for its owner alone, and never in the place of another
    file_ = std::make_shared<AtomicFile>(*path, is_secret ? 0600 : 0644, total_bytes_, !is_secret);
  } else {
    memory_.resize(total_bytes_);
  }
  finish_pieces();
}

Writer::Writer(std::shared_ptr<OutputFile> file, FileKind kind, const Hash& parameters, const cbor::Map& header,
               std::span<const Declared> sections, std::uint16_t oldest)
    : Writer(kind, parameters, header, sections, oldest) {
  file_ = std::move(file);
  finish_pieces();
}

void Writer::set_header(const cbor::Map& header) {
  std::vector<std::uint8_t> bytes = encode_header(header);
  if (bytes.size() != header_.size()) {
    refuse("a header of " + std::to_string(bytes.size()) + " bytes cannot take the place of one of " +
           std::to_string(header_.size()));
  }
  header_ = std::move(bytes);
}

void Writer::skip(std::uint64_t sum, const Hash& hash) {
  if (current_ == sections_.size() || written_ + rows_done_ > 0) refuse("there is no section to pass over");
  sections_[current_].sum = sum;
  sections_[current_].hash = hash;
  next_section();
  finish_pieces();
}

void Writer::next_section() noexcept {
  table_.clear();
  piece_start_ = rows_done_ = 0;
  ++current_;
}

void Writer::put(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  if (file_ != nullptr) {
    file_->write_at(offset, bytes);
  } else {
    std::copy(bytes.begin(), bytes.end(), memory_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
}

void Writer::write(std::span<const std::uint8_t> piece) {
  if (piece.empty()) return;
  if (current_ == sections_.size()) refuse("all declared sections are complete, nothing more can be written");
  const Section& section = sections_[current_];
  const std::uint64_t done = piece_start_ + written_;
  if (piece.size() > section.bytes - done) {
    refuse("section " + std::to_string(current_) + " was declared with " +
           std::to_string(section.bytes - table_.size()) + " bytes; after " + std::to_string(done - table_.size()) +
           " of them, " + std::to_string(piece.size()) + " are too many");
  }
  const std::vector<std::uint64_t>& rows = row_bytes_[current_];
  while (!piece.empty()) {
    const std::uint64_t left = rows.empty() ? piece.size() : rows[rows_done_] - written_;
    const std::span<const std::uint8_t> taken = piece.first(std::min<std::uint64_t>(left, piece.size()));
    put(section.offset + piece_start_ + written_, taken);
    hasher_.update(taken);
    sum_.update(taken);
    written_ += taken.size();
    piece = piece.subspan(taken.size());
    finish_pieces();
  }
}

/// Moves on from a row or section that has all its bytes, and over empty sections.
void Writer::finish_pieces() {
  while (current_ < sections_.size()) {
    const std::vector<std::uint64_t>& rows = row_bytes_[current_];
    Section& section = sections_[current_];
    if (rows.empty()) {
      if (written_ < section.bytes) return;
      finish_piece(section.sum, section.hash);
    } else {
      if (table_.empty()) start_rows(rows.size());
      if (written_ < rows[rows_done_]) return;
      RowEntry row{rows[rows_done_], 0, {}};
      finish_piece(row.sum, row.hash);
      piece_start_ += row.bytes;
      store_row(std::span(table_).subspan(kRowCountBytes + rows_done_ * kRowEntryBytes), row);
      if (++rows_done_ < rows.size()) continue;
      put(section.offset, table_);
      section.hash = blake3(table_);
      section.sum = fast_sum(table_);
    }
    next_section();
  }
}

void Writer::finish_piece(std::uint64_t& sum, Hash& hash) {
  hash = hasher_.finalize();
  sum = sum_.value();
  hasher_ = Blake3();
  sum_ = FastSum();
  written_ = 0;
}

/// Makes room for the table of a section of rows.
void Writer::start_rows(std::uint64_t num_rows) {
  table_.resize(*row_table_bytes(num_rows, std::numeric_limits<std::uint64_t>::max()));
  std::memcpy(table_.data(), &num_rows, sizeof num_rows);
  piece_start_ = table_.size();
}

bool holds_rows(const PartialFile& file, const Section& section) {
  std::uint64_t num_rows = 0;
  std::uint8_t count[kRowCountBytes];
  if (!file.read_at(section.offset, count)) return false;
  std::memcpy(&num_rows, count, sizeof num_rows);
  const std::optional<std::uint64_t> table_bytes = row_table_bytes(num_rows, section.bytes);
  if (!table_bytes) return false;
  std::vector<std::uint8_t> table(*table_bytes), row;
  if (!file.read_at(section.offset, table) || blake3(table) != section.hash) return false;
  std::uint64_t offset = section.offset + table.size();
  for (std::uint64_t i = 0; i < num_rows; ++i) {  // their lengths are what was written, as the table is
    const RowEntry entry = load_row(std::span(table).subspan(kRowCountBytes + i * kRowEntryBytes));
    if (entry.bytes > section.bytes) return false;
    row.resize(entry.bytes);
    if (!file.read_at(offset, row) || blake3(row) != entry.hash) return false;
    offset += row.size();
  }
  return true;
}

std::vector<std::uint8_t> Writer::commit() {
  if (committed_) refuse("the container is committed already");
  if (current_ < sections_.size()) {
    refuse("section " + std::to_string(current_) + " has " + std::to_string(piece_start_ + written_ - table_.size()) +
           " of its " + std::to_string(sections_[current_].bytes - table_.size()) +
           " bytes; write all sections before committing");
  }
  Prologue prologue;
  prologue.major = major_;
  prologue.kind = static_cast<std::uint16_t>(kind_);
  prologue.header_bytes = static_cast<std::uint32_t>(header_.size());
  prologue.section_count = static_cast<std::uint32_t>(sections_.size());
  prologue.total_bytes = total_bytes_;
  prologue.parameters = parameters_;

  std::vector<std::uint8_t> head(prologue.head_bytes());
  std::copy(header_.begin(), header_.end(), head.begin() + kPrologueBytes);
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    store_section(std::span(head).subspan(kPrologueBytes + header_.size() + i * kSectionEntryBytes), sections_[i]);
  }
  store_prologue(head, prologue);
  prologue.header_hash = hash_of_head(head);
  store_prologue(head, prologue);
  put(0, head);
  committed_ = true;
  if (file_ != nullptr) file_->commit();
  return std::move(memory_);
}

}  // namespace lw
