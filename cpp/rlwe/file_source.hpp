// Sources and sinks of containers, and the checks that all files share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/container.hpp"
#include "rlwe/keys.hpp"

namespace lw {

/// A path, or bytes in memory under a name for messages. Bytes must outlive what is read from them.
struct Source {
  std::optional<std::string> path;
  std::span<const std::uint8_t> bytes;
};

/// Opens a container of one kind for these parameters. Throws lw::Error: kSecretKey if it is a secret key and another
/// kind was wanted, kParameterMismatch naming both fingerprints, kFormat for any other kind or damage.
Reader open_container(const Source& source, FileKind wanted, const Parameters& parameters);

/// A writer to a path, or to memory without one; `oldest` as of Writer.
Writer make_writer(const std::optional<std::string>& path, FileKind kind, const Parameters& parameters,
                   const cbor::Map& header, std::span<const Writer::Declared> sections, std::uint16_t oldest = 1);

// Fields that values have in common. Each throws lw::Error(kFormat) naming the field.
Level read_level(cbor::Field item, const Parameters& parameters);  // of its "track" and "index"
double read_scale(cbor::Field field);
std::uint32_t read_slots(cbor::Field field, std::uint32_t ring_degree);
/// Throws lw::Error(kLevel) unless `to` is a lower level of the same track, or the same.
void require_readable(Level stored, Level to, const Parameters& parameters, const std::string& what);

KeySetId read_key_set(cbor::Field field);
Hash read_hash(cbor::Field field);

/// Throws lw::Error(kFormat) unless the file has exactly `count` sections, all of `kind`.
void check_sections(const Reader& reader, std::uint16_t kind, std::size_t count);

}  // namespace lw
