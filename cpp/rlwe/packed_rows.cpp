#include "rlwe/packed_rows.hpp"

#include "math/error.hpp"

namespace lw {

PackedLayout::PackedLayout(const Parameters& parameters, std::span<const std::uint16_t> limbs, std::uint32_t polys)
    : limbs_(limbs.begin(), limbs.end()), polys_(polys) {
  constexpr std::uint64_t kAlignment = 64;
  for (const std::uint16_t limb : limbs) widths_.push_back(parameters.width(limb));
  for (std::uint32_t poly = 0; poly < polys; ++poly) {
    for (const std::uint8_t width : widths_) {
      offsets_.push_back(bytes_);
      const std::uint64_t row_bytes = std::uint64_t{parameters.ring_degree()} * width / 8;
      bytes_ += (row_bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
  }
}

std::vector<std::uint8_t> PackedLayout::pack(const Ring& ring, ConstRows rows) const {
  std::vector<std::uint8_t> stored(bytes_);
  ring.kernels().export_residues(ring.queue(), {reinterpret_cast<std::byte*>(stored.data()), offsets_, widths_}, rows);
  return stored;
}

PolyRows PackedLayout::unpack(const Ring& ring, std::span<const std::uint8_t> stored, const std::string& what) const {
  if (stored.size() != bytes_) {
    throw Error(ErrorKind::kFormat, what + " has " + std::to_string(stored.size()) + " bytes; these parameters need " +
                                        std::to_string(bytes_));
  }
  PolyRows out(ring, limbs_, polys_);
  const PackedRows rows{reinterpret_cast<const std::byte*>(stored.data()), offsets_, widths_};
  if (!ring.kernels().import_residues(ring.queue(), out.rows(), rows)) {
    throw Error(ErrorKind::kFormat, what + " holds a residue that is not below its prime; the file was altered");
  }
  return out;
}

}  // namespace lw
