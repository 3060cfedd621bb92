// Encryption of many messages on a device, with the bytes of rlwe/encryptor.hpp for the same seeds.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rlwe/device_secrets.hpp"
#include "rlwe/encryptor.hpp"

namespace lw {

/// Messages [first, first + count) of a batch.
struct MessageRange {
  std::size_t first, count;
};

/// Messages of one level that are brought to a device, some at a time.
class BatchMessages {
 public:
  virtual ~BatchMessages() = default;
  virtual std::size_t count() const noexcept = 0;
  /// What a message is, but for its residues.
  virtual Plaintext label(std::size_t i) const noexcept = 0;
  /// What of the host's memory is uploaded for some of them, in whole words.
  virtual std::span<const std::byte> numbers(MessageRange range) const noexcept = 0;
  /// Words of secret memory that `integers` takes for so many.
  virtual std::size_t work_words(std::size_t count) const noexcept = 0;
  /// Their coefficients, from the numbers, which are at `numbers` on the device, on the running queue. Writes 1 to
  /// *is_wrong if they cannot be encoded. None: `add_to` is called.
  virtual ItemIntegers integers(Word* numbers, Word* work, std::size_t count, Word* is_wrong) const noexcept = 0;
  /// Adds them to a poly each in NTT form.
  virtual void add_to(LimbView, MessageRange) const noexcept {}
  /// Throws for messages that cannot be encoded.
  virtual void refuse() const {}
};

/// Plaintexts of a context, in its memory.
class PlaintextMessages final : public BatchMessages {
 public:
  /// Throws lw::Error(kLevel) unless all are of one level; and as `check_message`.
  PlaintextMessages(const Context& context, std::vector<Plaintext> plaintexts);

  std::size_t count() const noexcept override { return plaintexts_.size(); }
  Plaintext label(std::size_t i) const noexcept override { return plaintexts_[i]; }
  std::span<const std::byte> numbers(MessageRange) const noexcept override { return {}; }
  std::size_t work_words(std::size_t) const noexcept override { return 0; }
  ItemIntegers integers(Word*, Word*, std::size_t, Word*) const noexcept override { return {}; }
  void add_to(LimbView polys, MessageRange range) const noexcept override;

 private:
  const Ring& ring_;
  std::vector<Plaintext> plaintexts_;
};

/// Every message has seeds of its own, drawn when it is encrypted and in the order in which an Encryptor draws them. A
/// secret key is uploaded.
class BatchEncryptor {
 public:
  /// context: of a device. Throws lw::Error(kParameterMismatch) if the key belongs to other parameters, kOutOfMemory,
  /// kDevice.
  BatchEncryptor(const Context& context, std::shared_ptr<const SecretKey> key, SeedSource seeds = {});
  BatchEncryptor(const Context& context, std::shared_ptr<const PublicKey> key, SeedSource seeds = {});

  /// Ciphertexts in the memory of the device, in the order of their messages: all of them, or an error. most_at_once:
  /// for tests.
  std::vector<Ciphertext> encrypt(const BatchMessages& messages, std::size_t most_at_once = SIZE_MAX) const;

 private:
  struct Part;
  std::vector<ItemStream> streams(const LimbList& limbs) const;
  Part bring(const BatchMessages& messages, MessageRange range, std::size_t num_streams) const;
  RnsPolys symmetric(const BatchMessages& messages, Part& part, const LimbList& limbs) const;
  RnsPolys asymmetric(const BatchMessages& messages, Part& part, const LimbList& limbs) const;

  const Context& context_;
  const ClientKernels& client_;
  KeySetId key_set_;
  std::unique_ptr<const DeviceSecret> secret_;  // or else
  std::shared_ptr<const PublicKey> public_;     // in the memory of the device
  SeedSource seeds_;
};

}  // namespace lw
