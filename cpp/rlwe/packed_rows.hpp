// Rows as they are stored: canonical residues, bit-packed at the width of their prime, [poly][limb], each row at a
// multiple of 64 bytes and verified by itself. All sizes follow from the parameters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/container.hpp"
#include "rlwe/context.hpp"

namespace lw {

/// Names a section of rows in messages: "keys.lwkeys: galois key 5", and what one of its polys is called.
struct StoredName {
  std::string what;
  const char* poly = "poly";
  std::vector<std::uint32_t> numbers = {};  // of its polys; empty: counted from the first
  std::uint32_t first = 0;                  // poly of the section that belongs to it
};

class PackedLayout {
 public:
  PackedLayout(const Parameters& parameters, std::span<const std::uint16_t> limbs, std::uint32_t polys);

  std::uint64_t bytes() const noexcept { return polys_ * poly_bytes_; }
  /// The section that write() fills.
  Writer::Declared section(std::uint16_t kind) const;
  /// Appends all rows, holding one poly at a time.
  void write(Writer& writer, const Ring& ring, ConstLimbView rows) const;

  /// Reads `limbs` of some polys (places in this layout, both), and touches no other rows: the work is that of these.
  /// A section that was written without rows (version 1.0) is verified as a whole. Throws lw::Error(kFormat), naming
  /// the file, the poly and the limb, if the sizes are not these (before allocating anything), a row is not what was
  /// written, or a residue is not below its prime.
  RnsPolys read(const Ring& ring, const Reader& reader, std::size_t section, std::span<const std::uint32_t> polys,
                const LimbList& limbs, const StoredName& name) const;
  /// One row into memory that is there, and the row of a stream beside it: poly and limb are places in this layout,
  /// `buffer` is for what is stored. Reads the file itself and uses what it verified. Throws as read() does, and
  /// IoError naming the row.
  /// False if the system had to wait for the disk.
  bool read_limb(const Ring& ring, const Reader& reader, std::size_t section, std::uint32_t poly, std::size_t limb,
                 LimbView stored, LimbView expanded, const UniformStream& stream, std::vector<std::uint8_t>& buffer,
                 const StoredName& name) const;
  /// Lets the system start to read a row that read_limb() will be asked for.
  void will_need(const Reader& reader, std::size_t section, std::uint32_t poly, std::size_t limb) const {
    if (reader.section_info(section).has_rows) reader.will_need(section, poly * limbs_.size() + limb, 1);
  }
  /// Bytes of the longest row.
  std::uint64_t most_limb_bytes() const noexcept { return *std::max_element(row_bytes_.begin(), row_bytes_.end()); }
  RnsPolys read_all(const Ring& ring, const Reader& reader, std::size_t section, const StoredName& name) const;

 private:
  std::size_t num_rows() const noexcept { return polys_ * limbs_.size(); }
  std::uint64_t offset(std::size_t row) const noexcept {
    return row / limbs_.size() * poly_bytes_ + offsets_[row % limbs_.size()];
  }
  void check_section(const Reader& reader, std::size_t section, std::span<const std::size_t> rows,
                     const std::string& what) const;
  /// The bytes of the whole section, of which `rows` are verified.
  std::span<const std::uint8_t> verify(const Reader& reader, std::size_t section, std::span<const std::size_t> rows,
                                       const StoredName& name) const;
  [[noreturn]] void fail_row(std::size_t row, const StoredName& name) const;
  [[noreturn]] void fail_residue(std::size_t row, const StoredName& name) const;
  std::string row_name(std::size_t row, const StoredName& name) const;

  LimbList limbs_;
  std::uint32_t polys_;
  std::vector<std::uint64_t> row_bytes_;  // by limb, as the next two
  std::vector<std::size_t> offsets_;      // in a poly
  std::vector<std::uint8_t> widths_;
  std::uint64_t poly_bytes_ = 0;
};

}  // namespace lw
