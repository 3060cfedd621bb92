#include "rlwe/packed_rows.hpp"

#include <numeric>

#include "math/error.hpp"

namespace lw {

PackedLayout::PackedLayout(const Parameters& parameters, std::span<const std::uint16_t> limbs, std::uint32_t polys)
    : limbs_(limbs.begin(), limbs.end()), polys_(polys) {
  constexpr std::uint64_t kAlignment = 64;
  for (const std::uint16_t limb : limbs) {
    widths_.push_back(parameters.width(limb));
    const std::uint64_t bits = std::uint64_t{parameters.ring_degree()} * widths_.back();
    row_bytes_.push_back((bits / 8 + kAlignment - 1) / kAlignment * kAlignment);
  }
  for (std::uint32_t poly = 0; poly < polys; ++poly) {
    for (const std::uint64_t row_bytes : row_bytes_) {
      offsets_.push_back(bytes_);
      bytes_ += row_bytes;
    }
  }
}

Writer::Declared PackedLayout::section(std::uint16_t kind) const {
  Writer::Declared declared{kind, bytes_};
  for (std::uint32_t poly = 0; poly < polys_; ++poly) {
    declared.row_bytes.insert(declared.row_bytes.end(), row_bytes_.begin(), row_bytes_.end());
  }
  return declared;
}

void PackedLayout::write(Writer& writer, const Ring& ring, ConstRows rows) const {
  std::vector<std::uint8_t> stored(bytes_ / polys_);
  const std::span offsets = std::span(offsets_).first(limbs_.size());
  for (std::uint32_t poly = 0; poly < polys_; ++poly) {
    const ConstRows one(rows.row(poly, 0), rows.stride, rows.poly_stride, rows.limbs, 1);
    ring.kernels().export_residues(ring.queue(), {reinterpret_cast<std::byte*>(stored.data()), offsets, widths_}, one);
    writer.write(stored);
  }
}

PolyRows PackedLayout::read(const Ring& ring, const Reader& reader, std::size_t section,
                            std::span<const std::uint32_t> polys, const LimbList& limbs, const StoredName& name) const {
  check_section(reader, section, name.what);
  std::vector<std::size_t> rows, offsets;
  std::vector<std::uint8_t> widths;
  for (const std::uint32_t poly : polys) {
    for (const Run& run : find_runs(limbs_, limbs)) {
      for (std::size_t j = 0; j < run.count; ++j) rows.push_back(poly * limbs_.size() + run.first_in + j);
    }
  }
  for (const std::size_t row : rows) offsets.push_back(offsets_[row]);
  for (std::size_t j = 0; j < limbs.size(); ++j) widths.push_back(widths_[rows[j] % limbs_.size()]);

  const std::span<const std::uint8_t> stored = verified(reader, section, rows, name);
  const std::byte* base = reinterpret_cast<const std::byte*>(stored.data());
  PolyRows out(ring, limbs, static_cast<std::uint32_t>(polys.size()));
  if (ring.kernels().import_residues(ring.queue(), out.rows(), {base, offsets, widths})) return out;
  for (std::size_t i = 0; i < rows.size(); ++i) {  // which one was it?
    const std::size_t j = i % limbs.size();
    const Rows row = out.rows(static_cast<std::uint32_t>(i / limbs.size()), 1, j, 1);
    if (ring.kernels().import_residues(ring.queue(), row, {base, {&offsets[i], 1}, {&widths[j], 1}})) continue;
    throw Error(ErrorKind::kFormat,
                row_name(rows[i], name) + " holds a residue that is not below its prime; the file was altered");
  }
  return out;
}

PolyRows PackedLayout::read_all(const Ring& ring, const Reader& reader, std::size_t section,
                                const StoredName& name) const {
  std::vector<std::uint32_t> polys(polys_);
  std::iota(polys.begin(), polys.end(), 0u);
  return read(ring, reader, section, polys, limbs_, name);
}

void PackedLayout::check_section(const Reader& reader, std::size_t section, const std::string& what) const {
  const Section& info = reader.section_info(section);
  const std::size_t rows = reader.num_rows(section);
  std::uint64_t found = info.has_rows ? 0 : info.bytes;
  bool fits = !info.has_rows || rows == offsets_.size();
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint64_t bytes = reader.unverified_row(section, row).size();
    found += bytes;
    fits = fits && bytes == row_bytes_[row % limbs_.size()];
  }
  if (fits && found == bytes_) return;
  throw Error(ErrorKind::kFormat, what + " has " + std::to_string(found) + " bytes" +
                                      (info.has_rows ? " in " + std::to_string(rows) + " rows" : "") +
                                      "; these parameters need " + std::to_string(bytes_) + " in " +
                                      std::to_string(offsets_.size()) + " rows");
}

std::span<const std::uint8_t> PackedLayout::verified(const Reader& reader, std::size_t section,
                                                     std::span<const std::size_t> rows, const StoredName& name) const {
  if (!reader.section_info(section).has_rows) return reader.section(section);
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t count = 1;
    while (i + count < rows.size() && rows[i + count] == rows[i] + count) ++count;
    reader.will_need(section, rows[i], count);
    i += count;
  }
  for (const std::size_t row : rows) {
    if (reader.row_is_intact(section, row)) continue;
    throw Error(ErrorKind::kFormat, row_name(row, name) +
                                        ": the row does not match its hash; the file was altered or is damaged, "
                                        "copy it again");
  }
  return {reader.unverified_row(section, 0).data(), bytes_};
}

std::string PackedLayout::row_name(std::size_t row, const StoredName& name) const {
  const std::size_t poly = row / limbs_.size();
  const std::size_t number = name.numbers.empty() ? poly : name.numbers[poly];
  return name.what + ", " + name.poly + " " + std::to_string(number) + ", limb " +
         std::to_string(limbs_[row % limbs_.size()]);
}

}  // namespace lw
