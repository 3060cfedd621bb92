#include "io/container_layout.hpp"

#include <bit>
#include <cstring>

#include "math/error.hpp"

namespace lw {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are copied to and from bytes as they are");

/// Walks over a structure, field by field.
template <typename Byte>
class Cursor {
 public:
  explicit Cursor(Byte* at) noexcept : at_(at) {}
  template <typename T>
  void put(const T& field) noexcept {
    std::memcpy(at_, &field, sizeof field);
    at_ += sizeof field;
  }
  template <typename T>
  void get(T& field) noexcept {
    std::memcpy(&field, at_, sizeof field);
    at_ += sizeof field;
  }

 private:
  Byte* at_;
};

}  // namespace

void store_prologue(std::span<std::uint8_t> out, const Prologue& p) noexcept {
  std::memcpy(out.data(), kMagic, sizeof kMagic);
  Cursor cursor(out.data() + sizeof kMagic);
  cursor.put(p.major);
  cursor.put(p.minor);
  cursor.put(p.kind);
  cursor.put(p.flags);
  cursor.put(p.header_bytes);
  cursor.put(p.section_count);
  cursor.put(p.total_bytes);
  cursor.put(p.parameters);
  cursor.put(p.header_hash);
  cursor.put(p.reserved);
}

Prologue load_prologue(std::span<const std::uint8_t> in) noexcept {
  Prologue p;
  Cursor cursor(in.data() + sizeof kMagic);
  cursor.get(p.major);
  cursor.get(p.minor);
  cursor.get(p.kind);
  cursor.get(p.flags);
  cursor.get(p.header_bytes);
  cursor.get(p.section_count);
  cursor.get(p.total_bytes);
  cursor.get(p.parameters);
  cursor.get(p.header_hash);
  cursor.get(p.reserved);
  return p;
}

void store_section(std::span<std::uint8_t> out, const Section& section) noexcept {
  Cursor cursor(out.data());
  cursor.put(section.kind);
  cursor.put(section.has_rows ? kHasRows : std::uint16_t{0});
  cursor.put(section.index);
  cursor.put(section.offset);
  cursor.put(section.bytes);
  cursor.put(section.sum);
  cursor.put(section.hash);
}

Section load_section(std::span<const std::uint8_t> in, std::uint16_t& flags) noexcept {
  Section section;
  Cursor cursor(in.data());
  cursor.get(section.kind);
  cursor.get(flags);
  cursor.get(section.index);
  cursor.get(section.offset);
  cursor.get(section.bytes);
  cursor.get(section.sum);
  cursor.get(section.hash);
  section.has_rows = flags == kHasRows;
  return section;
}

std::optional<std::uint64_t> row_table_bytes(std::uint64_t num_rows, std::uint64_t at_most) noexcept {
  if (num_rows > at_most / kRowEntryBytes) return std::nullopt;
  const std::uint64_t bytes = kRowCountBytes + num_rows * kRowEntryBytes;
  const std::uint64_t padded = (bytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  return padded > at_most ? std::nullopt : std::optional(padded);
}

void store_row(std::span<std::uint8_t> out, const RowEntry& row) noexcept {
  Cursor cursor(out.data());
  cursor.put(row.bytes);
  cursor.put(row.sum);
  cursor.put(row.hash);
}

RowEntry load_row(std::span<const std::uint8_t> in) noexcept {
  RowEntry row;
  Cursor cursor(in.data());
  cursor.get(row.bytes);
  cursor.get(row.sum);
  cursor.get(row.hash);
  return row;
}

Hash hash_of_head(std::span<const std::uint8_t> head) noexcept {
  Blake3 hasher;
  hasher.update(head.first(kHashedPrologueBytes));
  hasher.update(head.subspan(kPrologueBytes));
  return hasher.finalize();
}

std::string to_string(FileKind kind) {
  switch (kind) {
    case FileKind::kPlan:
      return "a plan (server file)";
    case FileKind::kClient:
      return "a client file";
    case FileKind::kSecretKey:
      return "a secret key";
    case FileKind::kPublicKey:
      return "a public key";
    case FileKind::kEvaluationKeys:
      return "evaluation keys";
    case FileKind::kCiphertexts:
      return "ciphertexts";
    case FileKind::kPlaintexts:
      return "plaintexts";
    case FileKind::kPrepared:
      return "prepared constants";
  }
  throw Error(ErrorKind::kValue, "container: there is no file kind " + std::to_string(static_cast<unsigned>(kind)));
}

}  // namespace lw
