// Runs plans. No randomness, no clock but for events: the same plan, keys and
// inputs give the same bytes on any backend and number of threads.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "exec/plaintexts.hpp"
#include "exec/providers.hpp"
#include "exec/run_state.hpp"
#include "exec/working_memory.hpp"

namespace lw {

/// One instruction done: on a device when its kernels are, by the device's clock; the two times are equal where it has
/// none.
struct ExecutionEvent {
  const char* op;
  std::uint32_t block, instruction;
  std::int64_t level;              // index of the level of the first result; -1 if it has none
  std::uint64_t start_ns, end_ns;  // the host's steady clock
};

/// Callbacks for the reports of a run. All optional.
struct Observers {
  std::function<void(const ExecutionEvent&)> on_event;
  Tick tick;  // called before every instruction, and in it before every ciphertext of an array and between the digits
              // of a key switch; throws to cancel
  std::vector<std::uint32_t> watch;  // cipher registers whose every value goes to on_watch
  std::function<void(std::uint32_t reg, const Ciphertexts& value)> on_watch;
  std::function<void(const RunState& state)>
      on_state;  // after each iteration of a loop of the body that can go on from there, and at some places of the body
};

/// Callbacks for the reports of a batch. One member at a time computes, on whatever thread.
struct BatchObservers {
  std::function<void(std::size_t member, const ExecutionEvent&)> on_event;
  Tick tick;  // on the thread that waits for the batch, or before every instruction; throws to cancel all of it
};

/// The fewest bytes of keys in memory with which a plan runs, and the instruction that they are for.
struct KeyNeed {
  std::size_t bytes = 0;
  std::uint32_t block = 0, instruction = 0;
};

using Input = std::variant<Ciphertexts, std::int64_t>;

class RecordedRuns;

/// Limits of recorded runs: bytes of the device that each may hold, and how many there may be.
struct RecordingLimits {
  std::size_t bytes = SIZE_MAX, count = SIZE_MAX;
};

/// Runs a plan on ciphertexts. May be shared between threads if its providers may.
class Executor {
 public:
  /// Throws lw::Error(kParameterMismatch), and kMissingKey naming every key of the plan that the set lacks.
  Executor(std::shared_ptr<const Context> context, std::shared_ptr<const Plan> plan, std::shared_ptr<KeyProvider> keys,
           std::shared_ptr<PlaintextProvider> plaintexts, RecordingLimits recordings = {});

  /// One input per argument of the body. Before any work, throws lw::Error: kShape for another number or kind of
  /// inputs, another number of ciphertexts, slots or degree; kParameterMismatch; kLevel; kScale; kRange for a trip
  /// count out of bounds, and for a budget of keys that is too small for an instruction. If a run fails or is
  /// cancelled, everything it holds is freed.
  ///
  /// With a state that an earlier run of the same inputs gave to on_state: goes on from there, to the same bytes;
  /// what is done again on the way is not reported. Throws lw::Error(kFormat) for a state that is none of this plan.
  std::vector<Ciphertexts> run(std::vector<Input> inputs, const Observers& observers = {},
                               std::optional<RunState> from = std::nullopt) const;
  /// Throws what run throws for these inputs before any work.
  void check(const std::vector<Input>& inputs) const;
  /// Runs several inputs, up to `at_once` (at least 1) of which go through the plan together where keys come by
  /// windows: then each window is read once for them. Those whose integers differ take different ways, and are not
  /// together. The results are those of runs one by one, and so are the errors, which name the member: before any work
  /// for any of them. If one fails or the batch is cancelled, none has results.
  std::vector<std::vector<Ciphertexts>> run_many(std::vector<std::vector<Input>> members, std::size_t at_once,
                                                 const BatchObservers& observers = {}) const;
  /// The instruction that needs most of them where keys do not stay in memory.
  const KeyNeed& key_need() const noexcept { return key_need_; }
  /// Freed memory that stays on the device for the next run, within the budget of constants.
  std::size_t kept_bytes() const noexcept { return memory_.kept_bytes(); }

 private:
  void check_keys() const;
  KeyNeed find_key_need() const;
  void check_budget() const;
  void check_inputs(const std::vector<Input>& inputs, const std::string& who) const;
  void check_watch(const Observers& observers) const;
  void check_state(const RunState& state) const;
  Tick pace(Tick tick) const;
  void synchronise() const;
  std::unique_ptr<KeyUses> key_uses(const std::vector<Input>& inputs, const std::optional<RunState>& from) const;
  std::vector<Ciphertexts> run_checked(std::vector<Input> inputs, const Observers& observers,
                                       std::optional<RunState> from) const;
  std::vector<std::vector<std::size_t>> batches(const std::vector<std::vector<Input>>& members,
                                                std::size_t at_once) const;
  void run_together(const std::vector<std::size_t>& batch, std::vector<std::vector<Input>>& members,
                    std::vector<std::vector<Ciphertexts>>& outputs, const BatchObservers& observers) const;

  std::shared_ptr<const Context> context_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<KeyProvider> keys_;
  std::shared_ptr<PlaintextProvider> plaintexts_;
  KeyNeed key_need_;
  mutable WorkingMemory memory_;
  std::shared_ptr<RecordedRuns> recorded_;
  mutable std::once_flag foreseen_;  // what recordings need of constants
};

}  // namespace lw
