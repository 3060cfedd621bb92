#include "rlwe/key_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>

#include "math/error.hpp"
#include "rlwe/packed_rows.hpp"
#include "rlwe/seeded.hpp"

namespace lw {
namespace {

// Section kinds: two bits a coefficient, limbs, limbs of public keys, a byte a coefficient.
constexpr std::uint16_t kCoefficients = 1, kRows = 2, kRowsWithSpecial = 3, kWideCoefficients = 4;
constexpr std::uint64_t kLastKeyKind = static_cast<std::uint64_t>(KeyKind::kToDense);

/// The key set that a key belongs to. All zeros stand for a value that needs no key, which fits every set: no key may
/// carry them, or nothing would be compared.
KeySetId read_owner(const Reader& reader) {
  const cbor::Field field = reader.header()["key_set"];
  const KeySetId id = read_key_set(field);
  if (id == KeySetId{}) field.fail("a key belongs to a key set; all zeros are none");
  return id;
}

cbor::Value spec_value(const KeySpec& spec, const SeedRef& seed) {
  return cbor::Array{static_cast<std::uint8_t>(spec.kind),     spec.galois_element, spec.level.track, spec.level.index,
                     std::span<const std::uint8_t>(seed.seed), seed.object};
}

struct ReadSpec {
  KeySpec spec;
  SeedRef seed;
};

ReadSpec read_spec(cbor::Field field, const Parameters& parameters) {
  if (field.size() != 6) field.fail("expected 6 items, got " + std::to_string(field.size()));
  ReadSpec key;
  key.spec.kind = static_cast<KeyKind>(field[0].as_unsigned(kLastKeyKind));
  key.spec.galois_element = field[1].as_unsigned();
  key.spec.level = {static_cast<std::uint32_t>(field[2].as_unsigned(UINT32_MAX)),
                    static_cast<std::uint32_t>(field[3].as_unsigned(UINT32_MAX))};
  key.seed = {read_hash(field[4]), field[5].as_unsigned()};
  try {
    check_spec(key.spec, parameters);
  } catch (const Error& error) {
    field.fail(error.what());
  }
  return key;
}

/// A key that others can read is not a secret, and one that they can write may be theirs.
void require_private(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || (status.st_mode & (S_IRWXG | S_IRWXO)) == 0) return;
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(status.st_mode & 07777));
  throw Error(ErrorKind::kSecretKey, path + ": other users may read or write this secret key (its mode is " + mode +
                                         "); if nobody else has had it, `chmod 600 " + path + "`, else make new keys");
}

}  // namespace

std::vector<std::uint8_t> save_secret_key(const std::optional<std::string>& path, const SecretKey& key,
                                          const Parameters& parameters) {
  check_parameters(key.parameters(), parameters, "save: the secret key");
  const std::span<const std::int8_t> coefficients = key.coefficients();
  const bool is_wide = parameters.has_gaussian_secret();
  SecretBuffer<std::uint8_t> packed(is_wide ? coefficients.size() : coefficients.size() / 4);
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    if (is_wide) {
      packed[i] = static_cast<std::uint8_t>(coefficients[i]);
    } else {
      packed[i / 4] = static_cast<std::uint8_t>(packed[i / 4] | (coefficients[i] + 1) << 2 * (i % 4));
    }
  }
  const cbor::Map header{{"key_set", std::span<const std::uint8_t>(key.id())}};
  const Writer::Declared section{is_wide ? kWideCoefficients : kCoefficients, packed.size()};
  Writer writer = make_writer(path, FileKind::kSecretKey, parameters, header, {&section, 1});
  writer.write(packed.span());
  return writer.commit();
}

SecretKey load_secret_key(const Source& source, const Parameters& parameters) {
  const Reader reader = open_container(source, FileKind::kSecretKey, parameters);
  if (source.path) require_private(*source.path);
  const bool is_wide = parameters.has_gaussian_secret();
  check_sections(reader, is_wide ? kWideCoefficients : kCoefficients, 1);
  reader.header().require_keys({"key_set"});
  const std::span<const std::uint8_t> packed = reader.section(0);
  SecretBuffer<std::int8_t> coefficients(parameters.ring_degree());
  const std::size_t expected = is_wide ? coefficients.size() : coefficients.size() / 4;
  if (packed.size() != expected) {
    throw Error(ErrorKind::kFormat, reader.name() + ": " + std::to_string(packed.size()) +
                                        " bytes of coefficients, expected " + std::to_string(expected));
  }
  unsigned invalid = 0;  // gathered, so that no branch depends on a coefficient
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    if (is_wide) {
      coefficients[i] = static_cast<std::int8_t>(packed[i]);
      continue;
    }
    const unsigned code = packed[i / 4] >> 2 * (i % 4) & 3u;
    invalid |= code & code >> 1;
    coefficients[i] = static_cast<std::int8_t>(static_cast<int>(code) - 1);
  }
  if (invalid != 0) throw Error(ErrorKind::kFormat, reader.name() + ": a coefficient is not ternary");
  if (!can_be_drawn(coefficients.span(), parameters)) {
    throw Error(ErrorKind::kFormat, reader.name() + ": these parameters have no such secret keys");
  }
  return SecretKey(std::move(coefficients), read_owner(reader), parameters.fingerprint());
}

std::vector<std::uint8_t> save_public_key(const std::optional<std::string>& path, const PublicKey& key,
                                          const Context& context) {
  check_context(key.parameters, *key.b, context.host(), "save: the public key");
  require_seed(key.is_unproved, "save: the public key");
  const PackedLayout layout(context.parameters(), key.b->limbs(), 1);
  const cbor::Map header{{"key_set", std::span<const std::uint8_t>(key.id)},
                         {"seed", std::span<const std::uint8_t>(key.seed.seed)}};
  const bool has_special = key.b->limbs().size() > context.parameters().all_q().size();
  const Writer::Declared section = layout.section(has_special ? kRowsWithSpecial : kRows);
  Writer writer = make_writer(path, FileKind::kPublicKey, context.parameters(), header, {&section, 1});
  layout.write(writer, context.host().ring(), key.b->view());
  return writer.commit();
}

PublicKey load_public_key(const Source& source, const Context& context) {
  const Reader reader = open_container(source, FileKind::kPublicKey, context.parameters());
  const bool has_special = reader.count(kRowsWithSpecial) > 0;
  check_sections(reader, has_special ? kRowsWithSpecial : kRows, 1);
  reader.header().require_keys({"key_set", "seed"});
  const Ring& ring = context.host().ring();
  const LimbList limbs = has_special ? public_key_limbs(context.parameters()) : context.parameters().all_q();
  PublicKey key{read_owner(reader),
                context.parameters().fingerprint(),
                {read_hash(reader.header()["seed"]), 0},
                nullptr,
                nullptr};
  const PackedLayout layout(context.parameters(), limbs, 1);
  key.b = std::make_shared<const RnsPolys>(layout.read_all(ring, reader, 0, {reader.name()}));
  RnsPolys a(ring, limbs, 1);
  expand_uniform(ring, a.view(), StreamDomain::kPublicKey, key.seed);
  key.a = std::make_shared<const RnsPolys>(std::move(a));
  return key;
}

cbor::Map evaluation_header(const KeySetId& id, std::span<const KeySpec> specs, std::span<const SeedRef> seeds) {
  cbor::Array keys;
  for (std::size_t i = 0; i < specs.size(); ++i) keys.push_back(spec_value(specs[i], seeds[i]));
  return {{"key_set", std::span<const std::uint8_t>(id)}, {"keys", std::move(keys)}};
}

PackedLayout evaluation_layout(const KeySpec& spec, const Parameters& parameters) {
  const KeyShape shape = key_shape(spec, parameters);
  return PackedLayout(parameters, shape.limbs, static_cast<std::uint32_t>(shape.digits.size()));
}

Writer::Declared evaluation_section(const PackedLayout& layout) { return layout.section(kRows); }

std::vector<std::uint8_t> save_evaluation_keys(const std::optional<std::string>& path, const EvaluationKeys& keys,
                                               const Context& context) {
  check_parameters(keys.parameters(), context.parameters(), "save: the evaluation keys");
  std::vector<KeySpec> specs;
  std::vector<SeedRef> seeds;
  std::vector<PackedLayout> layouts;
  std::vector<Writer::Declared> sections;
  for (const auto& key : keys.keys()) {
    check_context(keys.parameters(), *key->b, context, "save: an evaluation key");
    require_seed(key->is_unproved, "save: the " + describe(key->spec, context.degree()));
    specs.push_back(key->spec);
    seeds.push_back(key->seed);
    layouts.emplace_back(context.parameters(), key->b->limbs(), key->b->polys());
    sections.push_back(evaluation_section(layouts.back()));
  }
  const cbor::Map header = evaluation_header(keys.id(), specs, seeds);
  Writer writer = make_writer(path, FileKind::kEvaluationKeys, context.parameters(), header, sections);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    layouts[i].write(writer, context.ring(), keys.keys()[i]->b->view());
  }
  return writer.commit();
}

EvaluationKeys load_evaluation_keys(const Source& source, const Context& context, const Tick& tick) {
  const EvaluationKeyFile file(source, context);
  EvaluationKeys keys(file.id(), file.parameters());
  for (std::size_t i = 0; i < file.size(); ++i) {
    keys.add(std::make_shared<const EvaluationKey>(file.read(i, file.spec(i).level)));
    call(tick);
  }
  return keys;
}

EvaluationKeyFile::EvaluationKeyFile(const Source& source, const Context& context)
    : context_(context), reader_(open_container(source, FileKind::kEvaluationKeys, context.parameters())) {
  reader_.header().require_keys({"key_set", "keys"});
  const cbor::Field specs = reader_.header()["keys"];
  check_sections(reader_, kRows, specs.size());
  id_ = read_owner(reader_);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const ReadSpec key = read_spec(specs[i], context.parameters());
    KeyShape shape = key_shape(key.spec, context.parameters());
    PackedLayout layout(context.parameters(), shape.limbs, static_cast<std::uint32_t>(shape.digits.size()));
    // Made once: to find the steps of a rotation takes longer than to read a limb.
    StoredName name = {reader_.name() + ": " + describe(key.spec, context.degree()), "digit", shape.digit_numbers()};
    keys_.push_back({key.spec, key.seed, std::move(shape), std::move(layout), std::move(name)});
  }
}

std::optional<std::size_t> EvaluationKeyFile::find(const KeySpec& spec) const {
  const Parameters& parameters = context_.parameters();
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const StoredKey& key = keys_[i];
    if (key.spec.kind != spec.kind || key.spec.galois_element != spec.galois_element) continue;
    if (parameters.serves(key.spec.level, spec.level)) return i;
  }
  return std::nullopt;
}

KeyShape EvaluationKeyFile::shape_at(std::size_t i, Level level) const {
  const Parameters& parameters = context_.parameters();
  parameters.require_level(level);
  if (parameters.serves(spec(i).level, level)) return keys_.at(i).shape.within(parameters.basis(level), parameters);
  throw Error(ErrorKind::kLevel, reader_.name() + ": the " + describe(spec(i), parameters.ring_degree()) + " is for " +
                                     to_string(spec(i).level) + " and does not cover " + to_string(level));
}

std::uint64_t EvaluationKeyFile::most_limb_bytes() const noexcept {
  std::uint64_t most = 0;
  for (const StoredKey& key : keys_) most = std::max(most, key.layout.most_limb_bytes());
  return most;
}

std::uint32_t EvaluationKeyFile::StoredKey::poly_of(std::uint32_t digit) const noexcept {
  const auto is_it = [digit](const DigitPart& part) { return part.number == digit; };
  return static_cast<std::uint32_t>(std::find_if(shape.digits.begin(), shape.digits.end(), is_it) -
                                    shape.digits.begin());
}

std::size_t EvaluationKeyFile::StoredKey::place_of(std::uint16_t limb) const noexcept {
  return static_cast<std::size_t>(std::find(shape.limbs.begin(), shape.limbs.end(), limb) - shape.limbs.begin());
}

void EvaluationKeyFile::will_need(std::size_t i, std::uint32_t digit, std::uint16_t limb) const {
  const StoredKey& key = keys_.at(i);
  key.layout.will_need(reader_, i, key.poly_of(digit), key.place_of(limb));
}

bool EvaluationKeyFile::read_limb(std::size_t i, std::uint32_t digit, std::uint16_t limb, LimbView out,
                                  std::vector<std::uint8_t>& buffer) const {
  const StoredKey& key = keys_.at(i);
  const LimbView b = {out.limb(0, 0), out.stride, out.poly_stride, out.limbs, 1};
  const LimbView a = {out.limb(1, 0), out.stride, out.poly_stride, out.limbs, 1};
  return key.layout.read_limb(context_.ring(), reader_, i, key.poly_of(digit), key.place_of(limb), b, a,
                              uniform_stream(StreamDomain::kEvaluationKey, key.seed, digit), buffer, key.name);
}

EvaluationKey EvaluationKeyFile::read(std::size_t i, Level level) const {
  const StoredKey& stored = keys_.at(i);
  const KeyShape part = shape_at(i, level);
  EvaluationKey key{stored.spec, id_, stored.seed, part.digit_numbers(), nullptr, nullptr};
  key.spec.level = level;
  std::vector<std::uint32_t> polys;
  for (std::uint32_t d = 0; d < stored.shape.digits.size(); ++d) {
    const auto is_it = [&](std::uint32_t number) { return number == stored.shape.digits[d].number; };
    if (std::any_of(key.digits.begin(), key.digits.end(), is_it)) polys.push_back(d);
  }
  key.b =
      std::make_shared<const RnsPolys>(stored.layout.read(context_.ring(), reader_, i, polys, part.limbs, stored.name));
  key.a = std::make_shared<const RnsPolys>(expand_key(context_.ring(), part.limbs, key.digits, key.seed));
  return key;
}

}  // namespace lw
