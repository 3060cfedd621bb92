// Runs plans. No randomness, no clock but for events: the same plan, keys and
// inputs give the same bytes on any backend and number of threads.
#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "exec/providers.hpp"
#include "exec/working_memory.hpp"

namespace lw {

/// What a cipher register holds.
using Ciphertexts = std::vector<Ciphertext>;

/// One instruction done.
struct ExecutionEvent {
  const char* op;
  std::uint32_t block, instruction;
  std::int64_t level;              // index of the level of the first result; -1 if it has none
  std::uint64_t start_ns, end_ns;  // steady clock
};

/// What a run reports, and to whom. All optional.
struct Observers {
  std::function<void(const ExecutionEvent&)> on_event;
  Tick tick;  // called before every instruction, and in it before every ciphertext of an array and between the digits
              // of a key switch; throws to cancel
  std::vector<std::uint32_t> watch;  // cipher registers whose every value goes to on_watch
  std::function<void(std::uint32_t reg, const Ciphertexts& value)> on_watch;
};

/// Keys of the plan by first use: of the body, and of each block that is called, by its number.
using KeyOrders = std::vector<std::vector<std::uint32_t>>;

using Input = std::variant<Ciphertexts, std::int64_t>;

/// May be shared between threads if its providers may.
class Executor {
 public:
  /// Throws lw::Error(kParameterMismatch), and kMissingKey naming every key of the plan that the set lacks.
  Executor(std::shared_ptr<const Context> context, std::shared_ptr<const Plan> plan, std::shared_ptr<KeyProvider> keys,
           std::shared_ptr<PlaintextProvider> plaintexts);

  /// One input per argument of the body. Before any work, throws lw::Error: kShape for another number or kind of
  /// inputs, another number of ciphertexts, slots or degree; kParameterMismatch; kLevel; kScale; kRange for a trip
  /// count out of bounds. If a run fails or is cancelled, everything it holds is freed.
  std::vector<Ciphertexts> run(std::vector<Input> inputs, const Observers& observers = {}) const;
  /// Freed memory that stays on the device for the next run, within the budget of constants.
  std::size_t kept_bytes() const noexcept { return memory_.kept_bytes(); }

 private:
  void check_keys() const;
  void check_inputs(const std::vector<Input>& inputs, const Observers& observers) const;

  std::shared_ptr<const Context> context_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<KeyProvider> keys_;
  std::shared_ptr<PlaintextProvider> plaintexts_;
  KeyOrders key_orders_;
  mutable WorkingMemory memory_;
};

}  // namespace lw
