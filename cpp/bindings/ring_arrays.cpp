#include "bindings/ring_arrays.hpp"

#include <algorithm>

namespace lw {

void check_limbs(const Ring& ring, const LimbList& limbs) {
  for (const std::uint16_t limb : limbs) {
    require(limb < ring.num_limbs(), ErrorKind::kValue,
            "limb number " + std::to_string(limb) + " does not exist; the ring has " +
                std::to_string(ring.num_limbs()) + " limbs");
  }
}

// Limbs that lie one after the other, coefficients of widths[j] bits.
std::vector<std::size_t> packed_offsets(const Ring& ring, const std::vector<std::uint8_t>& widths, std::size_t polys) {
  std::vector<std::size_t> offsets = {0};
  for (std::size_t poly = 0; poly < polys; ++poly) {
    for (const std::uint8_t width : widths) {
      require(width >= 1 && width <= 64, ErrorKind::kValue,
              "a width of " + std::to_string(width) + " bits is not between 1 and 64");
      offsets.push_back(offsets.back() + std::size_t{ring.degree()} / 8 * width);
    }
  }
  return offsets;
}

std::vector<std::size_t> checked_offsets(const Ring& ring, std::size_t bytes, const std::vector<std::uint8_t>& widths,
                                         const LimbList& limbs, std::size_t polys) {
  check_limbs(ring, limbs);
  require(widths.size() == limbs.size(), ErrorKind::kShape,
          std::to_string(widths.size()) + " widths for " + std::to_string(limbs.size()) + " limbs; give one each");
  std::vector<std::size_t> offsets = packed_offsets(ring, widths, polys);
  require(offsets.back() == bytes, ErrorKind::kShape,
          "the rows take " + std::to_string(offsets.back()) + " bytes, but " + std::to_string(bytes) + " are given");
  return offsets;
}

void require_reduced(bool all_reduced) {
  require(all_reduced, ErrorKind::kValue, "a residue is not below the prime of its limb; reduce the input first");
}

RnsPolys import_packed(const Ring& ring, const void* data, std::size_t bytes, const std::vector<std::uint8_t>& widths,
                       const LimbList& limbs, std::uint32_t polys) {
  const std::vector<std::size_t> offsets = checked_offsets(ring, bytes, widths, limbs, polys);
  RnsPolys residues(ring, limbs, polys);
  bool all_reduced = false;
  {
    const nb::gil_scoped_release release;
    all_reduced = ring.import_residues(residues.view(), {static_cast<const std::byte*>(data), offsets, widths});
  }
  require_reduced(all_reduced);
  return residues;
}

void export_packed(const Ring& ring, void* data, const std::vector<std::uint8_t>& widths, const RnsPolys& residues) {
  const std::vector<std::size_t> offsets = packed_offsets(ring, widths, residues.polys());
  const nb::gil_scoped_release release;
  ring.export_residues({static_cast<std::byte*>(data), offsets, widths}, residues.view());
}

RnsPolys load(const Ring& ring, const ResidueArray& array, const LimbList& limbs) {
  require(array.shape(1) == limbs.size() && array.shape(2) == ring.degree(), ErrorKind::kShape,
          "an array has shape (" + std::to_string(array.shape(0)) + ", " + std::to_string(array.shape(1)) + ", " +
              std::to_string(array.shape(2)) + "); (polys, " + std::to_string(limbs.size()) + ", " +
              std::to_string(ring.degree()) + ") is needed");
  return import_packed(ring, array.data(), array.nbytes(), std::vector<std::uint8_t>(limbs.size(), 64), limbs,
                       static_cast<std::uint32_t>(array.shape(0)));
}

Result store(const Ring& ring, const RnsPolys& residues) {
  const std::size_t limbs = residues.limbs().size();
  auto data = std::make_unique_for_overwrite<Word[]>(residues.polys() * limbs * ring.degree());
  export_packed(ring, data.get(), std::vector<std::uint8_t>(limbs, 64), residues);
  Word* words = data.get();
  return Result(words, {residues.polys(), limbs, ring.degree()}, own(data));
}

}  // namespace lw
