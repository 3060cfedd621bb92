// Runs of a checked plan: one, or several together.
#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "exec/executor.hpp"
#include "exec/interpreter.hpp"
#include "exec/key_uses.hpp"
#include "exec/recorded_runs.hpp"
#include "exec/shared_keys.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

std::size_t num_bytes(const Ciphertexts& array) {
  std::size_t total = 0;
  for (const Ciphertext& value : array) total += value.num_bytes();
  return total;
}

std::size_t num_bytes(const std::vector<Input>& inputs) {
  std::size_t total = 0;
  for (const Input& input : inputs) {
    if (const Ciphertexts* array = std::get_if<Ciphertexts>(&input)) total += num_bytes(*array);
  }
  return total;
}

/// Whether the outputs are to be marked, which those of a recorded run are not.
bool has_unproved(const std::vector<Input>& inputs) {
  return std::ranges::any_of(inputs, [](const Input& input) {
    const Ciphertexts* array = std::get_if<Ciphertexts>(&input);
    return array != nullptr && std::ranges::any_of(*array, &Ciphertext::is_unproved);
  });
}

std::size_t num_bytes(const std::vector<Ciphertexts>& outputs) {
  std::size_t total = 0;
  for (const Ciphertexts& array : outputs) total += num_bytes(array);
  return total;
}

constexpr std::chrono::microseconds kPause{50};  // of a host that waits for a device

/// The observers of one member of a batch, which report under its number.
Observers of_member(const BatchObservers& observers, std::size_t member, Tick tick) {
  Observers own;
  own.tick = std::move(tick);
  if (observers.on_event) {
    own.on_event = [&observers, member](const ExecutionEvent& event) { observers.on_event(member, event); };
  }
  return own;
}

}  // namespace

std::vector<Ciphertexts> Executor::run(std::vector<Input> inputs, const Observers& observers,
                                       std::optional<RunState> from) const {
  check(inputs);
  check_watch(observers);
  if (from) check_state(*from);
  WorkingMemory::Run run(memory_);
  run.carries(num_bytes(inputs));
  std::vector<Ciphertexts> outputs = run_checked(std::move(inputs), observers, std::move(from));
  run.carries(num_bytes(outputs));
  return outputs;
}

void Executor::check(const std::vector<Input>& inputs) const {
  check_budget();
  check_inputs(inputs, "run");
}

std::vector<std::vector<Ciphertexts>> Executor::run_many(std::vector<std::vector<Input>> members, std::size_t at_once,
                                                         const BatchObservers& observers) const {
  check_budget();
  for (std::size_t m = 0; m < members.size(); ++m) {
    check_inputs(members[m], "run_many: member " + std::to_string(m));
  }
  WorkingMemory::Run run(memory_);
  for (const std::vector<Input>& inputs : members) run.carries(num_bytes(inputs));
  std::vector<std::vector<Ciphertexts>> outputs(members.size());
  for (const std::vector<std::size_t>& batch : batches(members, at_once)) {
    if (batch.size() > 1) {
      run_together(batch, members, outputs, observers);
      continue;
    }
    const Observers own = of_member(observers, batch[0], observers.tick);
    outputs[batch[0]] = run_checked(std::move(members[batch[0]]), own, std::nullopt);
  }
  for (const std::vector<Ciphertexts>& of_one : outputs) run.carries(num_bytes(of_one));
  return outputs;
}

/// Members of each, whose ways are the same. Keys that are all in memory are not read, so nothing is spared by holding
/// the values of several members at a time.
std::vector<std::vector<std::size_t>> Executor::batches(const std::vector<std::vector<Input>>& members,
                                                        std::size_t at_once) const {
  const std::size_t most = keys_->budget_bytes() == SIZE_MAX ? 1 : std::max<std::size_t>(1, at_once);
  std::map<std::vector<std::int64_t>, std::vector<std::size_t>> alike;
  for (std::size_t m = 0; m < members.size(); ++m) alike[integers(members[m])].push_back(m);
  std::vector<std::vector<std::size_t>> found;
  for (const auto& [way, group] : alike) {
    const std::size_t count = (group.size() + most - 1) / most;
    for (std::size_t i = 0; i < count; ++i) {  // of about one size
      const auto at = [&](std::size_t part) {
        return group.begin() + static_cast<std::ptrdiff_t>(part * group.size() / count);
      };
      found.emplace_back(at(i), at(i + 1));
    }
  }
  return found;
}

void Executor::run_together(const std::vector<std::size_t>& batch, std::vector<std::vector<Input>>& members,
                            std::vector<std::vector<Ciphertexts>>& outputs, const BatchObservers& observers) const {
  Lockstep lockstep(batch.size());
  const Tick tick = pace([&lockstep] { lockstep.check(); });
  SharedKeys keys(*context_, *keys_, key_uses(members[batch[0]], std::nullopt), tick, lockstep);
  lockstep.run(
      [&](std::size_t place) {
        const std::size_t member = batch[place];
        const Observers own = of_member(observers, member, tick);
        const QueueScope scope;
        PlanConstants constants(*plaintexts_);
        outputs[member] = Interpreter(*context_, *plan_, keys.of(place), keys_->id(), constants, own)
                              .run(std::move(members[member]), std::nullopt);
        synchronise();
      },
      observers.tick);
}

std::unique_ptr<KeyUses> Executor::key_uses(const std::vector<Input>& inputs,
                                            const std::optional<RunState>& from) const {
  return std::make_unique<PlanKeyUses>(*context_, *plan_, *plaintexts_, inputs, from);
}

std::vector<Ciphertexts> Executor::run_checked(std::vector<Input> inputs, const Observers& observers,
                                               std::optional<RunState> from) const {
  std::unique_ptr<KeyRun> keys = keys_->start(key_uses(inputs, from), observers.tick);
  Observers paced = observers;
  paced.tick = this->pace(observers.tick);
  const bool is_watched = observers.on_event || observers.on_watch || observers.on_state || from.has_value() ||
                          has_unproved(inputs) || context_->ring().device().is_profiled();
  if (!is_watched && keys_->budget_bytes() == SIZE_MAX && recorded_->are_possible()) {
    std::call_once(foreseen_, [this] { plaintexts_->foresee(all_coefficient_bytes(*plan_, *plaintexts_)); });
    const auto execute = [&](std::vector<Input> given, RecordedRuns::Run& run) {
      PlanConstants constants(*plaintexts_, &run.constants, [&run] { run.recording->give_up(); });
      return Interpreter(*context_, *plan_, std::move(keys), keys_->id(), constants, paced)
          .run(std::move(given), std::nullopt);
    };
    if (auto outputs = recorded_->run(inputs, paced.tick, execute)) return *std::move(outputs);
  }
  const QueueScope scope;
  PlanConstants constants(*plaintexts_);
  std::vector<Ciphertexts> outputs = Interpreter(*context_, *plan_, std::move(keys), keys_->id(), constants, paced)
                                         .run(std::move(inputs), std::move(from));
  synchronise();
  return outputs;
}

/// Who calls more than a device keeps up with waits, and meanwhile hears of it if the run is cancelled or has failed.
Tick Executor::pace(Tick tick) const {
  const Ring& ring = context_->ring();
  if (ring.backend().form().is_on_host()) return tick;
  return [&ring, tick = std::move(tick)] {
    call(tick);
    Queue& queue = ring.queue();
    ring.device().check(queue);
    while (ring.device().is_behind(queue)) {
      std::this_thread::sleep_for(kPause);
      call(tick);
      ring.device().check(queue);
    }
  };
}

void Executor::synchronise() const {
  const Ring& ring = context_->ring();
  ring.device().synchronise(ring.queue());
}

}  // namespace lw
