#include "rlwe/ciphertext_files.hpp"

#include <numeric>

#include "math/error.hpp"
#include "rlwe/evaluator.hpp"
#include "rlwe/packed_rows.hpp"
#include "rlwe/seeded.hpp"

namespace lw {
namespace {

constexpr std::uint16_t kRows = 1;  // section kind
constexpr std::uint32_t kMaxDegree = 2;

/// A seeded ciphertext is stored without its c1.
std::uint32_t stored_polys(const Ciphertext& x, std::uint32_t degree) { return x.seed ? degree : degree + 1; }

cbor::Value item_value(const NamedCiphertext& item) {
  const Ciphertext& x = item.value;
  cbor::Map map{{"name", item.name}, {"track", x.level.track}, {"index", x.level.index},
                {"scale", x.scale},  {"slots", x.slots},       {"degree", x.degree()}};
  if (x.seed) {
    map.add("seed", std::span<const std::uint8_t>(x.seed->seed));
    map.add("object", x.seed->object);
  }
  return map;
}

/// Everything but the rows; `degree` apart, because a ciphertext has it from its rows.
Ciphertext read_item(cbor::Field field, const Context& context, std::uint32_t& degree) {
  const bool is_seeded = field.find("seed").has_value();
  if (is_seeded) {
    field.require_keys({"name", "track", "index", "scale", "slots", "degree", "seed", "object"});
  } else {
    field.require_keys({"name", "track", "index", "scale", "slots", "degree"});
  }
  Ciphertext x;
  x.parameters = context.parameters().fingerprint();
  x.level = read_level(field, context.parameters());
  x.scale = read_scale(field["scale"]);
  x.slots = read_slots(field["slots"], context.degree());
  degree = static_cast<std::uint32_t>(field["degree"].as_unsigned(kMaxDegree));
  if (is_seeded) {
    if (degree != 1) field["degree"].fail("a seeded ciphertext has degree 1");
    x.seed = SeedRef{read_hash(field["seed"]), field["object"].as_unsigned()};
  }
  return x;
}

}  // namespace

std::vector<std::uint8_t> save_ciphertexts(const std::optional<std::string>& path, const CiphertextFile& file,
                                           const Context& context) {
  const Parameters& parameters = context.parameters();
  KeySetId key_set{};
  cbor::Array items;
  std::vector<PackedLayout> layouts;
  std::vector<Writer::Declared> sections;
  for (const NamedCiphertext& item : file.ciphertexts) {
    const Ciphertext& x = item.value;
    check_context(x.parameters, *x.rows, context, "save: ciphertext " + item.name);
    check_key_set(x.key_set, key_set, "save: ciphertext " + item.name);
    if (x.key_set != KeySetId{}) key_set = x.key_set;
    if (x.basis != Basis::kQ)
      throw Error(ErrorKind::kShape, "save: ciphertext " + item.name + " is over QP; mod_down it first");
    if (x.secret != SecretKind::kMain)
      throw Error(ErrorKind::kShape,
                  "save: ciphertext " + item.name + " is under the sparse secret; mod_raise it first");
    items.push_back(item_value(item));
    layouts.emplace_back(parameters, x.rows->limbs(), stored_polys(x, x.degree()));
    sections.push_back(layouts.back().section(kRows));
  }
  const cbor::Map header{
      {"key_set", std::span<const std::uint8_t>(key_set)}, {"ciphertexts", std::move(items)}, {"extras", file.extras}};
  Writer writer = make_writer(path, FileKind::kCiphertexts, parameters, header, sections);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const Ciphertext& x = file.ciphertexts[i].value;
    const ConstRows rows = x.rows->rows(0, stored_polys(x, x.degree()), 0, x.rows->limbs().size());
    layouts[i].write(writer, context.ring(), rows);
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
  header.require_keys({"key_set", "ciphertexts", "extras"});
  const cbor::Field items = header["ciphertexts"];
  check_sections(reader_, kRows, items.size());
  const KeySetId key_set = read_key_set(header["key_set"]);
  (void)extras();
  for (std::size_t i = 0; i < items.size(); ++i) {
    Item item{std::string(items[i]["name"].as_text()), {}, 0};
    item.value = read_item(items[i], context, item.degree);
    item.value.key_set = key_set;
    items_.push_back(std::move(item));
  }
}

Ciphertext CiphertextReader::read(std::size_t i, Level to) const {
  const auto& [name, value, degree] = items_.at(i);
  const StoredName what{reader_.name() + ": ciphertext " + name};
  const Parameters& parameters = context_.parameters();
  require_readable(value.level, to, parameters, what.what);
  const Ring& ring = context_.ring();
  const LimbList limbs = parameters.basis(to);
  const PackedLayout layout(parameters, parameters.basis(value.level), stored_polys(value, degree));
  std::vector<std::uint32_t> polys(stored_polys(value, degree));
  std::iota(polys.begin(), polys.end(), 0u);
  PolyRows rows = layout.read(ring, reader_, i, polys, limbs, what);
  if (value.seed) {
    PolyRows both(ring, limbs, 2);
    copy_limbs(ring, both, 0, rows, 0);
    expand_uniform(ring, both.rows(1, 1, 0, limbs.size()), StreamDomain::kSeededCiphertext, *value.seed);
    rows = std::move(both);
  }
  Ciphertext x = value;
  x.level = to;
  x.rows = std::make_shared<const PolyRows>(std::move(rows));
  return x;
}

}  // namespace lw
