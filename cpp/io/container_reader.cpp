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
    if (p.major != kMajorVersion) {
      fail("the file has format version " + std::to_string(p.major) + "." + std::to_string(p.minor) +
           ", this build reads versions 1.0 to 1.x; use a version of latticework that knows it");
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
      header = cbor::decode(bytes_.subspan(kPrologueBytes, p.header_bytes));
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
      if (flags != 0) altered(label + " has flags " + std::to_string(flags) + ", expected 0");
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
    if (p.header_bytes > kMaxHeaderBytes) {
      altered("the header has " + std::to_string(p.header_bytes) + " bytes, expected at most " +
              std::to_string(kMaxHeaderBytes));
    }
    if (p.section_count > kMaxSections) {
      altered("the file has " + std::to_string(p.section_count) + " sections, expected at most " +
              std::to_string(kMaxSections));
    }
    check_bytes("header and section table", p.head_bytes());
  }

  void check_expected(const Prologue& p, const Expected& expected) const {
    const FileKind kind = static_cast<FileKind>(p.kind);
    if (kind < FileKind::kPlan || kind > FileKind::kCiphertexts) {
      fail("the file kind " + std::to_string(p.kind) + " is unknown; this build knows kinds 1 to 6");
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
}

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

std::span<const std::uint8_t> Reader::section(std::size_t i) const {
  if (i >= sections_.size()) {
    throw Error(ErrorKind::kFormat, *name_ + ": there is no section " + std::to_string(i) + ", the file has " +
                                        std::to_string(sections_.size()));
  }
  const Section& section = sections_[i];
  const auto content = bytes_.subspan(section.offset, section.bytes);
  file_.check_size();
  if (!verified_[i].load(std::memory_order_acquire)) {
    if (blake3(content) != section.hash || fast_sum(content) != section.sum) {
      throw Error(ErrorKind::kFormat, *name_ + ": section " + std::to_string(i) + " (" + std::to_string(section.bytes) +
                                          " bytes at byte " + std::to_string(section.offset) +
                                          ") does not match its hash" + kCopyAgain);
    }
    verified_[i].store(true, std::memory_order_release);
  }
  return content;
}

void Reader::verify_all() const {
  for (std::size_t i = 0; i < sections_.size(); ++i) (void)section(i);
}

}  // namespace lw
