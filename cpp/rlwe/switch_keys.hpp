// The keys of one operation as it reads them: by windows of target limbs, so that no key need be in memory as a whole.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "rlwe/keys.hpp"

namespace lw {

/// Limbs of all keys of a pass for the next target limbs.
struct KeyWindow {
  LimbWindow limbs;
  std::span<const KeyLimbs> keys;
};

/// One way through the target limbs of a key switch.
class KeyPass {
 public:
  virtual ~KeyPass() = default;
  /// The limbs that follow those of the last call, whose limbs may go with it. The first call is for limb 0.
  virtual KeyWindow next() = 0;
  /// The running queue reads the window of the last call too, which another queue asked for.
  virtual void share() const {}
};

/// The keys of one operation, in its order: all of one kind and one key set, at the level of use.
class SwitchKeys {
 public:
  virtual ~SwitchKeys() = default;
  virtual std::size_t size() const noexcept = 0;
  virtual const KeySpec& spec(std::size_t k) const = 0;
  virtual const KeySetId& id() const = 0;
  /// Throws lw::Error(kParameterMismatch) unless its limbs are in the form of the context's backend.
  virtual void check(const Context& context, const std::string& op) const = 0;
  /// A pass over some of them, of these digits (their numbers) and target limbs. It lives no longer than they do.
  virtual std::unique_ptr<KeyPass> read(std::span<const std::size_t> which, std::span<const std::uint32_t> digits,
                                        const LimbList& limbs) const = 0;

  std::unique_ptr<KeyPass> read_all(std::span<const std::uint32_t> digits, const LimbList& limbs) const;
};

/// Keys that are in memory as a whole: one window.
class HeldKeys final : public SwitchKeys {
 public:
  explicit HeldKeys(std::vector<const EvaluationKey*> keys) : keys_(std::move(keys)) {}
  explicit HeldKeys(const EvaluationKey& key) : HeldKeys(std::vector<const EvaluationKey*>{&key}) {}
  /// Makes a view of keys that it keeps alive.
  explicit HeldKeys(std::vector<std::shared_ptr<const EvaluationKey>> owners);

  std::size_t size() const noexcept override { return keys_.size(); }
  const KeySpec& spec(std::size_t k) const override { return keys_[k]->spec; }
  const KeySetId& id() const override { return keys_.at(0)->id; }
  void check(const Context& context, const std::string& op) const override;
  std::unique_ptr<KeyPass> read(std::span<const std::size_t> which, std::span<const std::uint32_t> digits,
                                const LimbList& limbs) const override;

 private:
  std::vector<const EvaluationKey*> keys_;
  std::vector<std::shared_ptr<const EvaluationKey>> owners_;
};

}  // namespace lw
