#include "rlwe/key_files.hpp"

#include "math/error.hpp"
#include "rlwe/packed_rows.hpp"
#include "rlwe/seeded.hpp"

namespace lw {
namespace {

constexpr std::uint16_t kCoefficients = 1, kRows = 2;  // section kinds

/// The key set that a key belongs to. All zeros stand for a value that needs no key, which fits every set: no key may
/// carry them, or nothing would be compared.
KeySetId read_owner(const Reader& reader) {
  const cbor::Field field = reader.header()["key_set"];
  const KeySetId id = read_key_set(field);
  if (id == KeySetId{}) field.fail("a key belongs to a key set; all zeros are none");
  return id;
}

cbor::Value spec_value(const EvaluationKey& key) {
  return cbor::Array{
      static_cast<std::uint8_t>(key.spec.kind),     key.spec.galois_element, key.spec.level.track, key.spec.level.index,
      std::span<const std::uint8_t>(key.seed.seed), key.seed.object};
}

/// A key without its rows.
EvaluationKey read_spec(cbor::Field field, const KeySetId& id, const Parameters& parameters) {
  if (field.size() != 6) field.fail("expected 6 items, got " + std::to_string(field.size()));
  EvaluationKey key;
  key.id = id;
  key.spec.kind = static_cast<KeyKind>(field[0].as_unsigned(3));
  key.spec.galois_element = field[1].as_unsigned();
  key.spec.level = {static_cast<std::uint32_t>(field[2].as_unsigned(UINT32_MAX)),
                    static_cast<std::uint32_t>(field[3].as_unsigned(UINT32_MAX))};
  key.seed = {read_hash(field[4]), field[5].as_unsigned()};
  try {
    check_spec(key.spec, parameters);
  } catch (const Error& error) {
    field.fail(error.what());
  }
  key.digits = key_digits(key.spec, parameters);
  return key;
}

}  // namespace

void save_secret_key(const std::string& path, const SecretKey& key, const Parameters& parameters) {
  check_parameters(key.parameters(), parameters, "save: the secret key");
  const std::span<const std::int8_t> coefficients = key.coefficients();
  SecretBuffer<std::uint8_t> packed(coefficients.size() / 4);
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    packed[i / 4] = static_cast<std::uint8_t>(packed[i / 4] | (coefficients[i] + 1) << 2 * (i % 4));
  }
  const cbor::Map header{{"key_set", std::span<const std::uint8_t>(key.id())}};
  const Writer::Declared section{kCoefficients, packed.size()};
  Writer writer = make_writer(path, FileKind::kSecretKey, parameters, header, {&section, 1});
  writer.write(packed.span());
  writer.commit();
}

SecretKey load_secret_key(const std::string& path, const Parameters& parameters) {
  const Reader reader = open_container({path, {}}, FileKind::kSecretKey, parameters);
  check_sections(reader, kCoefficients, 1);
  reader.header().require_keys({"key_set"});
  const std::span<const std::uint8_t> packed = reader.section(0);
  SecretBuffer<std::int8_t> coefficients(parameters.ring_degree());
  if (packed.size() != coefficients.size() / 4) {
    throw Error(ErrorKind::kFormat, reader.name() + ": " + std::to_string(packed.size()) +
                                        " bytes of coefficients, expected " + std::to_string(coefficients.size() / 4));
  }
  unsigned invalid = 0;  // gathered, so that no branch depends on a coefficient
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    const unsigned code = packed[i / 4] >> 2 * (i % 4) & 3u;
    invalid |= code & code >> 1;
    coefficients[i] = static_cast<std::int8_t>(static_cast<int>(code) - 1);
  }
  if (invalid != 0) throw Error(ErrorKind::kFormat, reader.name() + ": a coefficient is not ternary");
  return SecretKey(std::move(coefficients), read_owner(reader), parameters.fingerprint());
}

std::vector<std::uint8_t> save_public_key(const std::optional<std::string>& path, const PublicKey& key,
                                          const Context& context) {
  check_parameters(key.parameters, context.parameters(), "save: the public key");
  const PackedLayout layout(context.parameters(), key.b->limbs(), 1);
  const cbor::Map header{{"key_set", std::span<const std::uint8_t>(key.id)},
                         {"seed", std::span<const std::uint8_t>(key.seed.seed)}};
  const Writer::Declared section{kRows, layout.bytes()};
  Writer writer = make_writer(path, FileKind::kPublicKey, context.parameters(), header, {&section, 1});
  writer.write(layout.pack(context.ring(), key.b->rows()));
  return writer.commit();
}

PublicKey load_public_key(const Source& source, const Context& context) {
  const Reader reader = open_container(source, FileKind::kPublicKey, context.parameters());
  check_sections(reader, kRows, 1);
  reader.header().require_keys({"key_set", "seed"});
  const Ring& ring = context.ring();
  const LimbList limbs = context.parameters().all_q();
  PublicKey key{read_owner(reader),
                context.parameters().fingerprint(),
                {read_hash(reader.header()["seed"]), 0},
                nullptr,
                nullptr};
  const PackedLayout layout(context.parameters(), limbs, 1);
  key.b = std::make_shared<const PolyRows>(layout.unpack(ring, reader.section(0), reader.name()));
  PolyRows a(ring, limbs, 1);
  expand_uniform(ring, a.rows(), StreamDomain::kPublicKey, key.seed);
  key.a = std::make_shared<const PolyRows>(std::move(a));
  return key;
}

std::vector<std::uint8_t> save_evaluation_keys(const std::optional<std::string>& path, const EvaluationKeys& keys,
                                               const Context& context) {
  check_parameters(keys.parameters(), context.parameters(), "save: the evaluation keys");
  cbor::Array specs;
  std::vector<PackedLayout> layouts;
  std::vector<Writer::Declared> sections;
  for (const auto& key : keys.keys()) {
    specs.push_back(spec_value(*key));
    layouts.emplace_back(context.parameters(), key->b->limbs(), key->b->polys());
    sections.push_back({kRows, layouts.back().bytes()});
  }
  const cbor::Map header{{"key_set", std::span<const std::uint8_t>(keys.id())}, {"keys", std::move(specs)}};
  Writer writer = make_writer(path, FileKind::kEvaluationKeys, context.parameters(), header, sections);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    writer.write(layouts[i].pack(context.ring(), keys.keys()[i]->b->rows()));
  }
  return writer.commit();
}

EvaluationKeys load_evaluation_keys(const Source& source, const Context& context, const Tick& tick) {
  const Parameters& parameters = context.parameters();
  const Reader reader = open_container(source, FileKind::kEvaluationKeys, parameters);
  reader.header().require_keys({"key_set", "keys"});
  const cbor::Field specs = reader.header()["keys"];
  check_sections(reader, kRows, specs.size());
  EvaluationKeys keys(read_owner(reader), parameters.fingerprint());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EvaluationKey key = read_spec(specs[i], keys.id(), parameters);
    const LimbList limbs = key_limbs(key.spec, parameters);
    const PackedLayout layout(parameters, limbs, static_cast<std::uint32_t>(key.digits.size()));
    const std::string what = reader.name() + ": " + describe(key.spec, parameters.ring_degree());
    key.b = std::make_shared<const PolyRows>(layout.unpack(context.ring(), reader.section(i), what));
    key.a = std::make_shared<const PolyRows>(expand_key(context.ring(), limbs, key.digits, key.seed));
    keys.add(std::make_shared<const EvaluationKey>(std::move(key)));
    call(tick);
  }
  return keys;
}

}  // namespace lw
