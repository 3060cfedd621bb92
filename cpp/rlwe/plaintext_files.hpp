// Encoded plaintexts as files: their limbs, or where that is smaller the integers that these are residues of.
#pragma once

#include <string>
#include <vector>

#include "rlwe/file_source.hpp"

namespace lw {

struct NamedPlaintext {
  std::string name;
  Plaintext value;
};

/// One section of limbs a plaintext. `extras` is whatever else the caller wants in the header. Returns the bytes if
/// there is no path, else nothing.
std::vector<std::uint8_t> save_plaintexts(const std::optional<std::string>& path,
                                          std::span<const NamedPlaintext> plaintexts, const cbor::Map& extras,
                                          const Context& context);

/// Plaintexts that stay in their file until they are read, each at the level asked for. Opening looks at the head of
/// the file only. Safe to share between threads. Errors as of Reader; the context must outlive it.
class PlaintextReader {
 public:
  PlaintextReader(const Source& source, const Context& context);

  std::size_t size() const noexcept { return items_.size(); }
  const std::string& name(std::size_t i) const { return items_.at(i).name; }
  Level level(std::size_t i) const { return items_.at(i).value.level; }
  /// Bits of an integer, or 0 if plaintext i is stored as limbs.
  std::uint32_t coefficient_bits(std::size_t i) const { return items_.at(i).bits; }
  const cbor::Map& extras() const { return reader_.header()["extras"].as_map(); }

  Plaintext read(std::size_t i) const { return read(i, level(i)); }
  /// The same message, scale and basis at a lower level of the same track; of limbs, no others are touched. Throws
  /// lw::Error(kLevel) for any other level.
  Plaintext read(std::size_t i, Level to) const;
  std::uint64_t touched_bytes() const noexcept { return reader_.touched_bytes(); }

 private:
  struct StoredPlaintext {
    std::string name;
    Plaintext value;  // without limbs
    std::uint32_t bits;
  };
  RnsPolys from_integers(std::size_t i, const LimbList& limbs, const std::string& what) const;

  const Context& context_;
  Reader reader_;
  std::vector<StoredPlaintext> items_;
};

}  // namespace lw
