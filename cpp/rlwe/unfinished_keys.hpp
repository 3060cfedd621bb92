// Evaluation keys that are written one after the other, and found again when their process ended in between.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rlwe/key_files.hpp"

namespace lw {

/// A file of evaluation keys under construction: "<path>.partial" until commit(), then `path`, no other than that
/// which save_evaluation_keys() writes. Whenever the process ends, the keys that were whole are kept by the next one
/// that continues the file; of a key that was not, nothing is used again.
///
/// Behind the keys are its notes: for each key its seed, the sum and hash of its section, and a hash of those together
/// with what the file is for; at the end whose keys they are. A note is written after its key and counts only if all
/// hashes fit, so that no order of writes needs to be kept. Keys to and from the sparse secret, which exists in one
/// process only, count together: if all are whole and have one seed. Members throw IoError.
class UnfinishedKeys {
 public:
  /// The key set that the unfinished file at this path is for; nothing if there is none, or it is too short to say.
  static std::optional<KeySetId> owner(const std::string& path);
  /// Removes the unfinished file, if there is one; whether there was. Throws IoError for one that is being written.
  static bool remove(const std::string& path);

  /// Opens the unfinished file or makes one, and claims the room of all of it. `continues`: what is in it is kept if it
  /// is for this key set and these keys; lw::Error(kParameterMismatch) if for others. Throws as check_key_specs() does
  /// before it touches anything.
  UnfinishedKeys(const std::string& path, const KeySetId& id, std::vector<KeySpec> specs, const Context& context,
                 bool continues);

  const KeySetId& id() const noexcept { return id_; }
  const Fingerprint& parameters() const noexcept { return context_.parameters().fingerprint(); }
  const std::vector<KeySpec>& specs() const noexcept { return specs_; }
  /// The number of keys found in it; those that come after the last keep() or write() are not counted yet.
  std::size_t num_kept() const noexcept { return num_kept_; }

  // The keys come in order, each by one of these two:
  bool keep(std::size_t i);  // whether key i is there, whole
  void write(std::size_t i, const EvaluationKey& key);
  void commit();
  /// Removes the file with what is in it.
  void remove();

 private:
  struct Note {
    SeedRef seed;
    std::uint64_t sum = 0;
    Hash hash{};
  };
  std::vector<std::uint8_t> encode_note(std::size_t i, const Note& note) const;
  bool read_note(std::size_t i);
  bool adopt_complete();
  bool is_whole(std::size_t i) const;
  bool has_sparse_pair() const;
  cbor::Map header() const;

  const Context& context_;
  KeySetId id_;
  std::vector<KeySpec> specs_;
  std::vector<PackedLayout> layouts_;
  std::vector<Note> notes_;
  std::vector<bool> noted_;
  Hash identity_{};
  std::shared_ptr<PartialFile> file_;
  std::optional<Writer> writer_;
  std::optional<bool> has_sparse_pair_;
  bool is_complete_ = false;  // the file is as commit() leaves it, but for its name
  std::size_t num_kept_ = 0;
};

}  // namespace lw
