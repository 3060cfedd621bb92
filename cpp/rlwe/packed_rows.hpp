// Rows as they are stored: canonical residues, bit-packed at the width of their prime, [poly][limb], each row at a
// multiple of 64 bytes. All sizes follow from the parameters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rlwe/context.hpp"

namespace lw {

class PackedLayout {
 public:
  PackedLayout(const Parameters& parameters, std::span<const std::uint16_t> limbs, std::uint32_t polys);

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::vector<std::uint8_t> pack(const Ring& ring, ConstRows rows) const;
  /// Throws lw::Error(kFormat), naming `what`, if there are not exactly bytes() bytes (before allocating any) or a
  /// residue is not below its prime.
  PolyRows unpack(const Ring& ring, std::span<const std::uint8_t> stored, const std::string& what) const;

 private:
  LimbList limbs_;
  std::uint32_t polys_;
  std::vector<std::size_t> offsets_;  // [poly][limb]
  std::vector<std::uint8_t> widths_;  // by limb
  std::uint64_t bytes_ = 0;
};

}  // namespace lw
