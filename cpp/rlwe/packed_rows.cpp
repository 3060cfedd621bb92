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
    offsets_.push_back(poly_bytes_);
    poly_bytes_ += row_bytes_.back();
  }
}

Writer::Declared PackedLayout::section(std::uint16_t kind) const {
  Writer::Declared declared{kind, bytes()};
  for (std::uint32_t poly = 0; poly < polys_; ++poly) {
    declared.row_bytes.insert(declared.row_bytes.end(), row_bytes_.begin(), row_bytes_.end());
  }
  return declared;
}

void PackedLayout::write(Writer& writer, const Ring& ring, ConstLimbView rows) const {
  std::vector<std::uint8_t> stored(poly_bytes_);
  for (std::uint32_t poly = 0; poly < polys_; ++poly) {
    const ConstLimbView one(rows.limb(poly, 0), rows.stride, rows.poly_stride, rows.limbs, 1);
    ring.export_residues({reinterpret_cast<std::byte*>(stored.data()), offsets_, widths_}, one);
    writer.write(stored);
  }
}

RnsPolys PackedLayout::read(const Ring& ring, const Reader& reader, std::size_t section,
                            std::span<const std::uint32_t> polys, const LimbList& limbs, const StoredName& name) const {
  std::vector<std::size_t> rows, offsets;
  std::vector<std::uint8_t> widths;
  for (const std::uint32_t poly : polys) {
    for (const LimbRun& run : find_runs(limbs_, limbs)) {
      for (std::size_t j = 0; j < run.count; ++j) rows.push_back(poly * limbs_.size() + run.first_in + j);
    }
  }
  check_section(reader, section, rows, name.what);
  for (const std::size_t row : rows) offsets.push_back(offset(row));
  for (std::size_t j = 0; j < limbs.size(); ++j) widths.push_back(widths_[rows[j] % limbs_.size()]);

  const std::span<const std::uint8_t> stored = verify(reader, section, rows, name);
  const std::byte* base = reinterpret_cast<const std::byte*>(stored.data());
  RnsPolys out(ring, limbs, static_cast<std::uint32_t>(polys.size()));
  if (ring.import_residues(out.view(), {base, offsets, widths})) return out;
  for (std::size_t i = 0; i < rows.size(); ++i) {  // which one was it?
    const std::size_t j = i % limbs.size();
    const LimbView row = out.view(static_cast<std::uint32_t>(i / limbs.size()), 1, j, 1);
    if (ring.import_residues(row, {base, {&offsets[i], 1}, {&widths[j], 1}})) continue;
    fail_residue(rows[i], name);
  }
  return out;
}

bool PackedLayout::read_limb(const Ring& ring, const Reader& reader, std::size_t section, std::uint32_t poly,
                             std::size_t limb, LimbView stored, LimbView expanded, const UniformStream& stream,
                             std::vector<std::uint8_t>& buffer, const StoredName& name) const {
  const std::size_t row = poly * limbs_.size() + limb, start = 0;
  check_section(reader, section, {&row, 1}, name.what);
  buffer.resize(row_bytes_[limb]);
  const bool has_rows = reader.section_info(section).has_rows;
  bool is_at_hand = true;
  if (!has_rows) {
    const std::span<const std::uint8_t> whole = reader.section(section);
    std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(offset(row)), buffer.size(), buffer.begin());
  } else {
    try {
      is_at_hand = reader.read_row(section, row, buffer);
    } catch (const IoError& error) {
      throw IoError(error.code(), row_name(row, name) + ": " + error.what());
    }
  }
  // What was read is this process's own: to judge it after it was unpacked is as good as before, and costs less.
  const PackedLimbs packed = {reinterpret_cast<const std::byte*>(buffer.data()), {&start, 1}, {&widths_[limb], 1}};
  FastSum sum;
  const bool all_reduced = ring.import_seeded(stored, expanded, packed, stream, has_rows ? &sum : nullptr);
  if (has_rows) {
    sum.update(std::span(buffer).subspan(packed.limb_bytes(0, ring.degree()).size()));
    if (!reader.is_written(section, row, buffer, sum.value())) fail_row(row, name);
  }
  if (!all_reduced) fail_residue(row, name);
  return is_at_hand;
}

RnsPolys PackedLayout::read_all(const Ring& ring, const Reader& reader, std::size_t section,
                                const StoredName& name) const {
  std::vector<std::uint32_t> polys(polys_);
  std::iota(polys.begin(), polys.end(), 0u);
  return read(ring, reader, section, polys, limbs_, name);
}

/// Whether the section has the size of this layout, and `rows` lie in it where they do here.
void PackedLayout::check_section(const Reader& reader, std::size_t section, std::span<const std::size_t> rows,
                                 const std::string& what) const {
  const Section& info = reader.section_info(section);
  const std::size_t found_rows = reader.num_rows(section);
  std::uint64_t found = info.bytes;
  bool fits = !info.has_rows || found_rows == num_rows();
  if (info.has_rows) {
    const std::uint8_t* base = reader.unverified_row(section, 0).data();
    const std::span<const std::uint8_t> last = reader.unverified_row(section, found_rows - 1);
    found = static_cast<std::uint64_t>(last.data() + last.size() - base);
    for (std::size_t i = 0; fits && i < rows.size(); ++i) {
      const std::span<const std::uint8_t> row = reader.unverified_row(section, rows[i]);
      fits = row.size() == row_bytes_[rows[i] % limbs_.size()] &&
             static_cast<std::uint64_t>(row.data() - base) == offset(rows[i]);
    }
  }
  if (fits && found == bytes()) return;
  throw Error(ErrorKind::kFormat, what + " has " + std::to_string(found) + " bytes" +
                                      (info.has_rows ? " in " + std::to_string(found_rows) + " rows" : "") +
                                      "; these parameters need " + std::to_string(bytes()) + " in " +
                                      std::to_string(num_rows()) + " rows");
}

std::span<const std::uint8_t> PackedLayout::verify(const Reader& reader, std::size_t section,
                                                   std::span<const std::size_t> rows, const StoredName& name) const {
  if (!reader.section_info(section).has_rows) return reader.section(section);
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t count = 1;
    while (i + count < rows.size() && rows[i + count] == rows[i] + count) ++count;
    reader.will_need(section, rows[i], count);
    i += count;
  }
  for (const std::size_t row : rows) {
    if (!reader.row_is_intact(section, row)) fail_row(row, name);
  }
  return {reader.unverified_row(section, 0).data(), bytes()};
}

void PackedLayout::fail_row(std::size_t row, const StoredName& name) const {
  throw Error(ErrorKind::kFormat, row_name(row, name) +
                                      ": the row does not match its hash; the file was altered or is damaged, "
                                      "copy it again");
}

void PackedLayout::fail_residue(std::size_t row, const StoredName& name) const {
  throw Error(ErrorKind::kFormat,
              row_name(row, name) + " holds a residue that is not below its prime; the file was altered");
}

std::string PackedLayout::row_name(std::size_t row, const StoredName& name) const {
  const std::size_t poly = row / limbs_.size();
  const std::size_t number = name.numbers.empty() ? poly - name.first : name.numbers[poly];
  return name.what + ", " + name.poly + " " + std::to_string(number) + ", limb " +
         std::to_string(limbs_[row % limbs_.size()]);
}

}  // namespace lw
