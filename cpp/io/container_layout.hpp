// The fixed numbers of the container format, and its bytes as fields.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "io/container.hpp"

namespace lw {

inline constexpr std::uint8_t kMagic[8] = {'L', 'A', 'T', 'T', 'I', 'C', 'E', '\n'};
inline constexpr std::uint16_t kOldestMajor = 1, kRowsMajor = 2, kNewestMajor = kLargeMajor, kMinorVersion = 0;
inline constexpr std::uint16_t kHasRows = 1;  // flags of a section
inline constexpr std::uint64_t kRowCountBytes = 8;
inline constexpr std::uint64_t kRowEntryBytes = 48;
inline constexpr std::uint64_t kRowAlignment = 64;
inline constexpr std::uint64_t kPrologueBytes = 128;
inline constexpr std::uint64_t kHashedPrologueBytes = 64;
inline constexpr std::uint64_t kSectionEntryBytes = 64;
inline constexpr std::uint64_t kSectionAlignment = 4096;

/// The limits on what a file may describe of itself. What a reader makes of a header is bounded by its bytes and its
/// values.
struct HeadLimits {
  std::uint64_t header_bytes;
  std::uint64_t sections;
};
inline constexpr HeadLimits kSmallHead{64 * 1024, 4096}, kLargeHead{4 << 20, 1 << 16};
inline constexpr std::size_t kMaxHeaderValues = std::size_t{1} << 18;
constexpr HeadLimits head_limits(std::uint16_t major) noexcept {
  return major >= kLargeMajor ? kLargeHead : kSmallHead;
}

struct Prologue {
  std::uint16_t major = kOldestMajor;
  std::uint16_t minor = kMinorVersion;
  std::uint16_t kind = 0;
  std::uint16_t flags = 0;
  std::uint32_t header_bytes = 0;
  std::uint32_t section_count = 0;
  std::uint64_t total_bytes = 0;
  Hash parameters{};
  Hash header_hash{};
  Hash reserved{};

  /// The offset of the end of the section table; cannot overflow.
  std::uint64_t head_bytes() const noexcept {
    return kPrologueBytes + header_bytes + kSectionEntryBytes * section_count;
  }
};

/// The two structures as bytes. The spans have at least kPrologueBytes and kSectionEntryBytes.
void store_prologue(std::span<std::uint8_t> out, const Prologue& prologue) noexcept;
Prologue load_prologue(std::span<const std::uint8_t> in) noexcept;
void store_section(std::span<std::uint8_t> out, const Section& section) noexcept;
/// flags: where the entry's flags go.
Section load_section(std::span<const std::uint8_t> in, std::uint16_t& flags) noexcept;

/// Bytes in front of the rows of a section, or nothing if they alone are more than `at_most`.
std::optional<std::uint64_t> row_table_bytes(std::uint64_t num_rows, std::uint64_t at_most) noexcept;

struct RowEntry {
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;
  Hash hash{};
};
/// The spans have at least kRowEntryBytes.
void store_row(std::span<std::uint8_t> out, const RowEntry& row) noexcept;
RowEntry load_row(std::span<const std::uint8_t> in) noexcept;

/// `head`: prologue, header and section table.
Hash hash_of_head(std::span<const std::uint8_t> head) noexcept;

/// Computes the start of a section after one that ends at `end`; returns false if that passes 2^63.
inline bool align_section(std::uint64_t end, std::uint64_t& offset) noexcept {
  constexpr std::uint64_t kMaxOffset = std::uint64_t{1} << 63;
  if (end > kMaxOffset - kSectionAlignment) return false;
  offset = (end + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
  return true;
}

/// Computes the end of a section; returns false if that passes 2^63.
inline bool end_of_section(std::uint64_t offset, std::uint64_t bytes, std::uint64_t& end) noexcept {
  constexpr std::uint64_t kMaxOffset = std::uint64_t{1} << 63;
  if (offset > kMaxOffset || bytes > kMaxOffset - offset) return false;
  end = offset + bytes;
  return true;
}

}  // namespace lw
