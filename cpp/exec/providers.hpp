// Provides keys to the executor, which asks for them late and gives them back early.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rlwe/switch_keys.hpp"

namespace lw {

/// The keys that one instruction reads.
struct KeyUse {
  std::vector<KeySpec> keys;                     // as the plan names them
  Level level;                                   // at which they are read
  std::vector<std::vector<std::size_t>> passes;  // which of them each way through the limbs reads
};

/// The uses of a run, in order.
class KeyUses {
 public:
  virtual ~KeyUses() = default;
  /// The next use of a key; nullopt after the last.
  virtual std::optional<KeyUse> next() = 0;
};

/// Throws lw::Error(kValue) after the last.
KeyUse next_use(KeyUses& uses);

/// The keys of one run, which holds no more of them than it reads. Ends with it, however that ends.
class KeyRun {
 public:
  virtual ~KeyRun() = default;
  /// The keys of the next use, until the next call. Reading them throws what reading a file throws.
  virtual const SwitchKeys& next() = 0;
};

class KeyProvider {
 public:
  virtual ~KeyProvider() = default;
  virtual const KeySetId& id() const = 0;
  virtual const Fingerprint& parameters() const = 0;
  /// Whether it has such a key. Loads nothing.
  virtual bool has(const KeySpec& spec) const = 0;
  /// The bytes of keys that there may be in memory, and the fewest with which a use can be served.
  virtual std::size_t budget_bytes() const noexcept { return SIZE_MAX; }
  virtual std::size_t least_bytes(const KeyUse&) const { return 0; }
  /// Starts the key reading of a run with these uses; tick is called now and then in a wait, and may throw to cancel
  /// it.
  virtual std::unique_ptr<KeyRun> start(std::unique_ptr<KeyUses> uses, Tick tick) = 0;
};

/// All keys in memory.
class ResidentKeys final : public KeyProvider {
 public:
  ResidentKeys(std::shared_ptr<const EvaluationKeys> keys, std::shared_ptr<const Parameters> parameters)
      : keys_(std::move(keys)), parameters_(std::move(parameters)) {}

  const KeySetId& id() const override { return keys_->id(); }
  const Fingerprint& parameters() const override { return keys_->parameters(); }
  bool has(const KeySpec& spec) const override { return keys_->find(spec, *parameters_) != nullptr; }
  std::unique_ptr<KeyRun> start(std::unique_ptr<KeyUses> uses, Tick tick) override;

 private:
  std::shared_ptr<const EvaluationKeys> keys_;
  std::shared_ptr<const Parameters> parameters_;
};

}  // namespace lw
