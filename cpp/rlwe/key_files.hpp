// Keys as files. Public halves are stored as a seed; what is loaded is checked in full.
#pragma once

#include "rlwe/file_source.hpp"
#include "rlwe/packed_rows.hpp"

namespace lw {

/// Saves a secret key to a file of mode 0600, or without a path to bytes, which are as secret as the key and for the
/// caller to guard: two bits a coefficient. Loading throws lw::Error(kSecretKey) for a file that others than its owner
/// may read or write.
std::vector<std::uint8_t> save_secret_key(const std::optional<std::string>& path, const SecretKey& key,
                                          const Parameters& parameters);
SecretKey load_secret_key(const Source& source, const Parameters& parameters);

/// Returns the bytes if there is no path, else nothing.
std::vector<std::uint8_t> save_public_key(const std::optional<std::string>& path, const PublicKey& key,
                                          const Context& context);
PublicKey load_public_key(const Source& source, const Context& context);

/// The head of a file of evaluation keys, but for the sections: of key i its spec and its seed.
cbor::Map evaluation_header(const KeySetId& id, std::span<const KeySpec> specs, std::span<const SeedRef> seeds);
/// The limbs of the key of a spec as they are stored, and the section that they fill.
PackedLayout evaluation_layout(const KeySpec& spec, const Parameters& parameters);
Writer::Declared evaluation_section(const PackedLayout& layout);

/// One section per key: b, [digit][P limbs, then Q limbs ascending].
std::vector<std::uint8_t> save_evaluation_keys(const std::optional<std::string>& path, const EvaluationKeys& keys,
                                               const Context& context);
EvaluationKeys load_evaluation_keys(const Source& source, const Context& context, const Tick& tick = {});

/// Evaluation keys that stay in their file until they are read, each at the level asked for. Opening looks at the head
/// of the file only. Safe to share between threads. Errors as of Reader; the context must outlive it.
class EvaluationKeyFile {
 public:
  EvaluationKeyFile(const Source& source, const Context& context);

  const KeySetId& id() const noexcept { return id_; }
  const Fingerprint& parameters() const noexcept { return reader_.parameters(); }
  std::size_t size() const noexcept { return keys_.size(); }
  const KeySpec& spec(std::size_t i) const { return keys_.at(i).spec; }
  const SeedRef& seed(std::size_t i) const { return keys_.at(i).seed; }
  /// The key that serves a spec; nothing if none does.
  std::optional<std::size_t> find(const KeySpec& spec) const;

  /// Key i cut to the limbs of a level (on any track) that it covers: b from its limbs, a from its seed. Throws
  /// lw::Error(kLevel) if it does not cover the level, kFormat naming file, key, digit and limb if it was altered.
  EvaluationKey read(std::size_t i, Level level) const;
  /// Digits and limbs of key i that a level needs. Throws lw::Error(kLevel) if it does not cover the level.
  KeyShape shape_at(std::size_t i, Level level) const;
  /// One limb of key i, by the numbers of its digit and limb: b, and then a, each to memory of its own. Reads the file
  /// past its mapping. buffer: for what is stored. Errors as of read(), and IoError.
  /// False if the system had to wait for the disk.
  bool read_limb(std::size_t i, std::uint32_t digit, std::uint16_t limb, LimbView out,
                 std::vector<std::uint8_t>& buffer) const;
  /// Lets the system start to read a limb that read_limb() will be asked for.
  void will_need(std::size_t i, std::uint32_t digit, std::uint16_t limb) const;
  /// Bytes of the longest limb as stored.
  std::uint64_t most_limb_bytes() const noexcept;
  /// Bytes of key i in the file.
  std::uint64_t stored_bytes(std::size_t i) const { return reader_.section_info(i).bytes; }
  /// Bytes of the file that were looked at so far.
  std::uint64_t touched_bytes() const noexcept { return reader_.touched_bytes(); }

 private:
  struct StoredKey {
    KeySpec spec;
    SeedRef seed;
    KeyShape shape;
    PackedLayout layout;
    StoredName name;

    /// The places of a digit and a limb, by their numbers.
    std::uint32_t poly_of(std::uint32_t digit) const noexcept;
    std::size_t place_of(std::uint16_t limb) const noexcept;
  };

  const Context& context_;
  Reader reader_;
  KeySetId id_;
  std::vector<StoredKey> keys_;
};

}  // namespace lw
