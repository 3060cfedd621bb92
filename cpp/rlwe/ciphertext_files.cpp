#include "rlwe/ciphertext_files.hpp"

#include <cstring>
#include <numeric>

#include "math/error.hpp"
#include "rlwe/evaluator.hpp"
#include "rlwe/packed_rows.hpp"
#include "rlwe/seeded.hpp"

namespace lw {
namespace {

constexpr std::uint16_t kRows = 1;  // section kind
constexpr std::size_t kSeedBytes = sizeof(Hash) + sizeof(std::uint64_t);  // a seed and the number of its object

/// A seeded ciphertext is stored without its c1.
std::uint32_t stored_polys(const Ciphertext& x, std::uint32_t degree) { return x.seed ? degree : degree + 1; }

// Fields that are only there where they are true.
constexpr const char* kHoldsCoefficients = "coefficients";
constexpr const char* kIsUnproved = "unproved";

/// The description of a ciphertext in a file, without its name and its seed.
cbor::Map description(const Ciphertext& x) {
  cbor::Map map{{"track", x.level.track},
                {"index", x.level.index},
                {"scale", x.scale},
                {"slots", x.slots},
                {"degree", x.degree()}};
  if (x.encoding == Encoding::kCoefficients) map.add(kHoldsCoefficients, true);
  if (x.is_unproved) map.add(kIsUnproved, true);
  return map;
}

cbor::Value item_value(const NamedCiphertext& item) {
  cbor::Map map = description(item.value);
  map.add("name", item.name);
  if (const auto& seed = item.value.seed) {
    map.add("seed", std::span<const std::uint8_t>(seed->seed));
    map.add("object", seed->object);
  }
  return map;
}

/// Whether two ciphertexts can share a description and a section.
bool are_alike(const Ciphertext& a, const Ciphertext& b) {
  return a.level == b.level && a.scale == b.scale && a.slots == b.slots && a.degree() == b.degree() &&
         a.seed.has_value() == b.seed.has_value() && a.encoding == b.encoding && a.is_unproved == b.is_unproved;
}

cbor::Value group_value(std::span<const NamedCiphertext> group) {
  cbor::Map map = description(group[0].value);
  cbor::Array names;
  cbor::Bytes seeds;
  for (const auto& [name, x] : group) {
    names.push_back(name);
    if (!x.seed) continue;
    seeds.insert(seeds.end(), x.seed->seed.begin(), x.seed->seed.end());
    for (std::size_t i = 0; i < sizeof x.seed->object; ++i) {
      seeds.push_back(static_cast<std::uint8_t>(x.seed->object >> 8 * i));
    }
  }
  map.add("names", std::move(names));
  if (!seeds.empty()) map.add("seeds", std::move(seeds));
  return map;
}

/// A field that is there where it is true.
bool read_flag(cbor::Field field, std::string_view name) {
  const std::optional<cbor::Field> flag = field.find(name);
  if (flag && !flag->as_bool()) flag->fail("is left out where it is false");
  return flag.has_value();
}

/// Everything but the limbs and the seed; `degree` apart, because a ciphertext has it from its limbs.
Ciphertext read_description(cbor::Field field, const Context& context, std::uint32_t& degree) {
  Ciphertext x;
  x.parameters = context.parameters().fingerprint();
  x.level = read_level(field, context.parameters());
  x.scale = read_scale(field["scale"]);
  x.slots = read_slots(field["slots"], context.degree());
  degree = static_cast<std::uint32_t>(field["degree"].as_unsigned(kMaxCiphertextDegree));
  if (read_flag(field, kHoldsCoefficients)) x.encoding = Encoding::kCoefficients;
  x.is_unproved = read_flag(field, kIsUnproved);
  const bool is_seeded = field.find("seed").has_value() || field.find("seeds").has_value();
  if (is_seeded && degree != 1) field["degree"].fail("a seeded ciphertext has degree 1");
  return x;
}

void require_keys(cbor::Field field, std::string_view name, std::string_view seed, std::string_view object) {
  std::vector<std::string_view> keys = {name, "track", "index", "scale", "slots", "degree"};
  if (field.find(seed)) keys.insert(keys.end(), {seed, object});
  for (const char* flag : {kHoldsCoefficients, kIsUnproved}) {
    if (field.find(flag)) keys.emplace_back(flag);
  }
  field.require_keys(keys);
}

SeedRef read_seed(std::span<const std::uint8_t> stored) {
  SeedRef seed{};
  std::memcpy(seed.seed.data(), stored.data(), seed.seed.size());
  for (std::size_t i = 0; i < sizeof seed.object; ++i) {
    seed.object |= std::uint64_t{stored[seed.seed.size() + i]} << 8 * i;
  }
  return seed;
}

/// The division of a file's ciphertexts among its sections: the number of each section's ciphertexts.
struct Division {
  cbor::Map header;
  std::vector<std::size_t> counts;
  std::uint16_t version = 1;  // that can be read by
};

Division divide_by_key_sets(const CiphertextFile& file, const KeySetId& key_set) {
  const std::span<const NamedCiphertext> all = file.ciphertexts;
  cbor::Array items;
  for (const NamedCiphertext& item : all) items.push_back(item_value(item));
  const cbor::Value id = std::span<const std::uint8_t>(key_set);
  cbor::Map header{{"key_set", id}, {"ciphertexts", std::move(items)}, {"extras", file.extras}};
  if (has_small_head(header, all.size())) return {std::move(header), std::vector<std::size_t>(all.size(), 1)};

  cbor::Array groups;
  Division division;
  for (std::size_t first = 0, last; first < all.size(); first = last) {
    for (last = first + 1; last < all.size() && are_alike(all[first].value, all[last].value);) ++last;
    groups.push_back(group_value(all.subspan(first, last - first)));
    division.counts.push_back(last - first);
  }
  division.header = {{"key_set", id}, {"groups", std::move(groups)}, {"extras", file.extras}};
  division.version = kLargeMajor;
  return division;
}

}  // namespace

std::vector<std::uint8_t> save_ciphertexts(const std::optional<std::string>& path, const CiphertextFile& file,
                                           const Context& context) {
  const Parameters& parameters = context.parameters();
  KeySetId key_set{};
  for (const auto& [name, x] : file.ciphertexts) {
    check_context(x.parameters, *x.residues, context, "save: ciphertext " + name);
    check_key_set(x.key_set, key_set, "save: ciphertext " + name);
    if (x.key_set != KeySetId{}) key_set = x.key_set;
    if (x.basis != Basis::kQ)
      throw Error(ErrorKind::kShape, "save: ciphertext " + name + " is over QP; mod_down it first");
    if (x.secret != SecretKind::kMain)
      throw Error(ErrorKind::kShape, "save: ciphertext " + name + " is under the sparse secret; mod_raise it first");
  }
  const Division division = divide_by_key_sets(file, key_set);
  std::vector<Writer::Declared> sections;
  std::size_t first = 0;
  for (const std::size_t count : division.counts) {
    const Ciphertext& x = file.ciphertexts[first].value;
    const std::uint32_t polys = static_cast<std::uint32_t>(count) * stored_polys(x, x.degree());
    sections.push_back(PackedLayout(parameters, x.residues->limbs(), polys).section(kRows));
    first += count;
  }
  Writer writer = make_writer(path, FileKind::kCiphertexts, parameters, division.header, sections, division.version);
  for (const auto& [name, x] : file.ciphertexts) {
    const PackedLayout layout(parameters, x.residues->limbs(), stored_polys(x, x.degree()));
    layout.write(writer, context.ring(),
                 x.residues->view(0, stored_polys(x, x.degree()), 0, x.residues->limbs().size()));
  }
  return writer.commit();
}

CiphertextFile load_ciphertexts(const Source& source, const Context& context) {
  const CiphertextReader reader(source, context);
  CiphertextFile file{{}, reader.extras()};
  for (std::size_t i = 0; i < reader.size(); ++i) file.ciphertexts.push_back({reader.name(i), reader.read(i)});
  return file;
}

CiphertextReader::CiphertextReader(const Source& source, const Context& context)
    : context_(context), reader_(open_container(source, FileKind::kCiphertexts, context.parameters())) {
  const cbor::Field header = reader_.header();
  const bool has_groups = header.find("groups").has_value();
  const char* listed = has_groups ? "groups" : "ciphertexts";
  header.require_keys({"key_set", listed, "extras"});
  const cbor::Field sections = header[listed];
  check_sections(reader_, kRows, sections.size());
  key_set_ = read_key_set(header["key_set"]);
  (void)extras();
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (has_groups) {
      add_group(sections[i], i);
    } else {
      add_item(sections[i], i);
    }
  }
}

void CiphertextReader::add_item(cbor::Field field, std::size_t section) {
  require_keys(field, "name", "seed", "object");
  StoredCiphertext item{std::string(field["name"].as_text()), {}, 0, section, 0, 1};
  item.value = read_description(field, context_, item.degree);
  if (field.find("seed")) item.value.seed = SeedRef{read_hash(field["seed"]), field["object"].as_unsigned()};
  item.value.key_set = key_set_;
  items_.push_back(std::move(item));
}

void CiphertextReader::add_group(cbor::Field field, std::size_t section) {
  require_keys(field, "names", "seeds", "seeds");
  std::uint32_t degree = 0;
  Ciphertext value = read_description(field, context_, degree);
  value.key_set = key_set_;
  const cbor::Field names = field["names"];
  const auto seeds = field.find("seeds") ? field["seeds"].as_bytes() : std::span<const std::uint8_t>();
  if (names.size() == 0) names.fail("a group has at least one ciphertext");
  if (field.find("seeds") && seeds.size() != names.size() * kSeedBytes) {
    field["seeds"].fail("expected " + std::to_string(names.size() * kSeedBytes) + " bytes, got " +
                        std::to_string(seeds.size()));
  }
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (!seeds.empty()) value.seed = read_seed(seeds.subspan(k * kSeedBytes, kSeedBytes));
    items_.push_back({std::string(names[k].as_text()), value, degree, section, static_cast<std::uint32_t>(k),
                      static_cast<std::uint32_t>(names.size())});
  }
}

Ciphertext CiphertextReader::read(std::size_t i, Level to) const {
  const auto& [name, value, degree, section, place, count] = items_.at(i);
  const Parameters& parameters = context_.parameters();
  const std::uint32_t each = stored_polys(value, degree);
  const StoredName what{reader_.name() + ": ciphertext " + name, "poly", {}, place * each};
  require_readable(value.level, to, parameters, what.what);
  const Ring& ring = context_.ring();
  const LimbList limbs = parameters.basis(to);
  const PackedLayout layout(parameters, parameters.basis(value.level), count * each);
  std::vector<std::uint32_t> polys(each);
  std::iota(polys.begin(), polys.end(), place * each);
  RnsPolys residues = layout.read(ring, reader_, section, polys, limbs, what);
  if (value.seed) {
    RnsPolys both(ring, limbs, 2);
    copy_limbs(ring, both, 0, residues, 0);
    expand_uniform(ring, both.view(1, 1, 0, limbs.size()), StreamDomain::kSeededCiphertext, *value.seed);
    residues = std::move(both);
  }
  Ciphertext x = value;
  x.level = to;
  x.residues = std::make_shared<const RnsPolys>(std::move(residues));
  return x;
}

}  // namespace lw
