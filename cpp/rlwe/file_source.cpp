#include "rlwe/file_source.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "math/error.hpp"

namespace lw {
namespace {

template <std::size_t kSize>
std::array<std::uint8_t, kSize> read_array(cbor::Field field) {
  const std::span<const std::uint8_t> bytes = field.as_bytes();
  if (bytes.size() != kSize) {
    field.fail("expected " + std::to_string(kSize) + " bytes, got " + std::to_string(bytes.size()));
  }
  std::array<std::uint8_t, kSize> out;
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

Reader open_kind(const Source& source, FileKind kind) {
  Expected expected;
  expected.kinds = {kind};
  return source.path ? Reader::open(*source.path, expected) : Reader::view(source.bytes, "bytes in memory", expected);
}

bool is_secret_key(const Source& source) {
  try {
    open_kind(source, FileKind::kSecretKey);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Reader open_container(const Source& source, FileKind wanted, const Parameters& parameters) {
  try {
    Reader reader = open_kind(source, wanted);
    check_parameters(reader.parameters(), parameters, reader.name());
    return reader;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kFormat || wanted == FileKind::kSecretKey || !is_secret_key(source)) throw;
  }
  throw Error(ErrorKind::kSecretKey, source.path.value_or("what was given") + " is a secret key, not " +
                                         to_string(wanted) + "; a secret key must never leave its owner");
}

Writer make_writer(const std::optional<std::string>& path, FileKind kind, const Parameters& parameters,
                   const cbor::Map& header, std::span<const Writer::Declared> sections, std::uint16_t oldest) {
  return Writer(path, kind, parameters.fingerprint(), header, sections, oldest);
}

Level read_level(cbor::Field item, const Parameters& parameters) {
  const Level level{static_cast<std::uint32_t>(item["track"].as_unsigned(UINT32_MAX)),
                    static_cast<std::uint32_t>(item["index"].as_unsigned(UINT32_MAX))};
  if (!parameters.has_level(level)) item.fail("these parameters have no " + to_string(level));
  return level;
}

double read_scale(cbor::Field field) {
  const double scale = field.as_double();
  if (!std::isfinite(scale) || !(scale > 0)) field.fail("a scale must be positive and finite");
  return scale;
}

std::uint32_t read_slots(cbor::Field field, std::uint32_t ring_degree) {
  const std::uint32_t slots = static_cast<std::uint32_t>(field.as_unsigned(ring_degree / 2));
  if (!std::has_single_bit(slots)) field.fail("the number of slots must be a power of two");
  return slots;
}

void require_readable(Level stored, Level to, const Parameters& parameters, const std::string& what) {
  parameters.require_level(to);
  if (to.track == stored.track && to.index <= stored.index) return;
  throw Error(ErrorKind::kLevel, what + " is at " + to_string(stored) + ", it cannot be read at " + to_string(to) +
                                     "; choose a lower level of the same track");
}

KeySetId read_key_set(cbor::Field field) { return read_array<16>(field); }

Hash read_hash(cbor::Field field) { return read_array<32>(field); }

void check_sections(const Reader& reader, std::uint16_t kind, std::size_t count) {
  if (reader.num_sections() == count && reader.count(kind) == count) return;
  throw Error(ErrorKind::kFormat, reader.name() + ": " + std::to_string(reader.num_sections()) +
                                      " sections, expected " + std::to_string(count) + " of kind " +
                                      std::to_string(kind));
}

}  // namespace lw
