// Ciphertexts as files or messages: a fresh symmetric one is a seed and its c0.
//
// A file of few has a description and a section for each. Where that does not fit a small head, neighbours that are
// alike are a group: one description with a list of names and the seeds one after another, and one section of limbs,
// [ciphertext][poly][limb].
#pragma once

#include <string>
#include <vector>

#include "rlwe/file_source.hpp"

namespace lw {

struct NamedCiphertext {
  std::string name;
  Ciphertext value;
};

/// A file's ciphertexts, and the map of whatever else the caller had put into the header.
struct CiphertextFile {
  std::vector<NamedCiphertext> ciphertexts;
  cbor::Map extras;
};

/// Saves ciphertexts, all of one key set and over Q. Returns the bytes if there is no path, else nothing.
std::vector<std::uint8_t> save_ciphertexts(const std::optional<std::string>& path, const CiphertextFile& file,
                                           const Context& context);
CiphertextFile load_ciphertexts(const Source& source, const Context& context);

/// Ciphertexts that stay in their file until they are read, each at the level asked for. Opening looks at the head of
/// the file only. Safe to share between threads. Errors as of Reader; the context must outlive it.
class CiphertextReader {
 public:
  CiphertextReader(const Source& source, const Context& context);

  std::size_t size() const noexcept { return items_.size(); }
  const std::string& name(std::size_t i) const { return items_.at(i).name; }
  /// The level of ciphertext i.
  Level level(std::size_t i) const { return items_.at(i).value.level; }
  const cbor::Map& extras() const { return reader_.header()["extras"].as_map(); }

  Ciphertext read(std::size_t i) const { return read(i, level(i)); }
  /// Reads ciphertext i as if at its own level and then dropped to a lower one of the same track, without touching
  /// other limbs; a seeded one stays seeded. Throws lw::Error(kLevel) for any other level.
  Ciphertext read(std::size_t i, Level to) const;
  std::uint64_t touched_bytes() const noexcept { return reader_.touched_bytes(); }

 private:
  struct StoredCiphertext {
    std::string name;
    Ciphertext value;  // without limbs
    std::uint32_t degree;
    std::size_t section;
    std::uint32_t place, count;  // which of the section's ciphertexts it is, and of how many
  };
  void add_item(cbor::Field field, std::size_t section);
  void add_group(cbor::Field field, std::size_t section);

  const Context& context_;
  Reader reader_;
  KeySetId key_set_{};
  std::vector<StoredCiphertext> items_;
};

}  // namespace lw
