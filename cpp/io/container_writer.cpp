#include <algorithm>
#include <map>
#include <utility>

#include "io/container.hpp"
#include "io/container_layout.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::kValue, "container: " + what); }

std::vector<std::uint8_t> encode_header(const cbor::Map& header) {
  std::vector<std::uint8_t> bytes = cbor::encode(header);
  if (bytes.size() > kMaxHeaderBytes) {
    refuse("the header has " + std::to_string(bytes.size()) + " bytes, at most " + std::to_string(kMaxHeaderBytes) +
           " are allowed; move large items to sections");
  }
  return bytes;
}

/// The table of contents, but for sums and hashes; `end` becomes the size of the file.
std::vector<Section> lay_out(std::span<const Writer::Declared> declared, std::uint64_t header_bytes,
                             std::uint64_t& end) {
  if (declared.size() > kMaxSections) {
    refuse(std::to_string(declared.size()) + " sections, at most " + std::to_string(kMaxSections) +
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
    if (!align_section(end, section.offset) || !end_of_section(section.offset, section.bytes, end)) {
      refuse("section " + std::to_string(i) + " of " + std::to_string(section.bytes) + " bytes ends past 2^63");
    }
  }
  return sections;
}

}  // namespace

Writer::Writer(const std::string& path, FileKind kind, const Hash& parameters, const cbor::Map& header,
               std::span<const Declared> sections)
    : kind_(kind), parameters_(parameters), header_(encode_header(header)) {
  sections_ = lay_out(sections, header_.size(), total_bytes_);
  file_ = std::make_unique<AtomicFile>(path, kind == FileKind::kSecretKey ? 0600 : 0644, total_bytes_);
  finish_sections();
}

Writer::Writer(FileKind kind, const Hash& parameters, const cbor::Map& header, std::span<const Declared> sections)
    : kind_(kind), parameters_(parameters), header_(encode_header(header)) {
  sections_ = lay_out(sections, header_.size(), total_bytes_);
  memory_.resize(total_bytes_);
  finish_sections();
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
  if (piece.size() > section.bytes - written_) {
    refuse("section " + std::to_string(current_) + " was declared with " + std::to_string(section.bytes) +
           " bytes; after " + std::to_string(written_) + " of them, " + std::to_string(piece.size()) + " are too many");
  }
  put(section.offset + written_, piece);
  hasher_.update(piece);
  sum_.update(piece);
  written_ += piece.size();
  finish_sections();
}

/// Moves on from a section that has all its bytes, and over empty ones.
void Writer::finish_sections() {
  while (current_ < sections_.size() && written_ == sections_[current_].bytes) {
    sections_[current_].hash = hasher_.finalize();
    sections_[current_].sum = sum_.value();
    hasher_ = Blake3();
    sum_ = FastSum();
    written_ = 0;
    ++current_;
  }
}

std::vector<std::uint8_t> Writer::commit() {
  if (committed_) refuse("the container is committed already");
  if (current_ < sections_.size()) {
    refuse("section " + std::to_string(current_) + " has " + std::to_string(written_) + " of its " +
           std::to_string(sections_[current_].bytes) + " bytes; write all sections before committing");
  }
  Prologue prologue;
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
