// The keys of one run, read for all members of a batch: each window of limbs is computed with by every member before
// the next one comes.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "exec/lockstep.hpp"
#include "exec/providers.hpp"

namespace lw {

/// The uses of a run, told by number to whoever asks, at any distance from each other.
class NumberedUses {
 public:
  explicit NumberedUses(std::unique_ptr<KeyUses> uses) : uses_(std::move(uses)) {}

  /// Use `number`; nullptr after the last. It stays until it is forgotten.
  const KeyUse* at(std::size_t number);
  void forget_before(std::size_t number);

 private:
  std::unique_ptr<KeyUses> uses_;
  std::deque<KeyUse> told_;
  std::size_t first_ = 0;
};

/// Members meet at windows and nowhere else: what comes before the first window of a use, they know from its number.
class SharedKeys {
 public:
  /// uses: those of each member. All but them outlive this, and this outlives what `of` gives.
  SharedKeys(const Context& context, KeyProvider& provider, std::unique_ptr<KeyUses> uses, const Tick& tick,
             Lockstep& lockstep);
  SharedKeys(const SharedKeys&) = delete;

  /// The source that a member reads its keys from, as if it was alone.
  std::unique_ptr<KeyRun> of(std::size_t member);

 private:
  class Pass;
  class MemberPass;
  class MemberUse;
  class MemberRun;

  /// The keys of the run at a use that all members have come to.
  const SwitchKeys& reach(std::size_t use);

  const Context& context_;
  const KeyProvider& provider_;
  Lockstep& lockstep_;
  NumberedUses uses_;
  const std::unique_ptr<KeyRun> keys_;
  const SwitchKeys* current_ = nullptr;
  std::size_t num_reached_ = 0;
  std::weak_ptr<Pass> newest_;                                        // the way through the limbs that was begun last
  std::pair<std::size_t, std::size_t> newest_place_ = {SIZE_MAX, 0};  // its use, and its number there
};

}  // namespace lw
