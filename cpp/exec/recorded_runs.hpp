// Runs of a plan as recordings of a device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "exec/executor.hpp"
#include "exec/plan_constants.hpp"

namespace lw {

/// The integers that alone decide the control flow of a run: ciphertexts decide nothing.
std::vector<std::int64_t> integers(const std::vector<Input>& inputs);

/// The first run with some integers is recorded, and later ones with the same replay it. Where runs overlap each has a
/// recording of its own, up to a few. Safe to share between threads.
class RecordedRuns final : public Spare {
 public:
  using Integers = std::vector<std::int64_t>;
  /// A recorded run: the recording, and all else that its calls read and write.
  struct Run {
    Integers integers;
    std::unique_ptr<Recording> recording;
    RecordedConstants constants;
    std::vector<std::shared_ptr<RnsPolys>> inputs;  // where each ciphertext of the inputs is to be
    std::vector<Ciphertexts> outputs;
  };
  /// Calls a run on the running queue, and notes the constants that it reads.
  using Execute = std::function<std::vector<Ciphertexts>(std::vector<Input> inputs, Run& run)>;

  static constexpr std::size_t kMost = 4;  // each has memory of its own

  /// most_bytes: of the device, that each may hold, and how many there may be, at most kMost.
  RecordedRuns(std::shared_ptr<const Context> context, std::size_t most_bytes, std::size_t most)
      : context_(std::move(context)), most_bytes_(most_bytes), most_(std::min(most, kMost)) {}

  bool are_possible() const noexcept { return context_->ring().device().can_record(); }
  /// The outputs of a run; nothing where it is not to be recorded. tick may throw to cancel it.
  std::optional<std::vector<Ciphertexts>> run(const std::vector<Input>& inputs, const Tick& tick,
                                              const Execute& execute);
  /// Ends recordings that nobody replays.
  void drop() noexcept override;

 private:
  std::unique_ptr<Run> take(const Integers& integers);
  std::unique_ptr<Run> start(const Integers& integers);
  void put_back(std::unique_ptr<Run> run);
  /// Runs it for the first time. Whether it can be replayed.
  bool record(Run& run, const std::vector<Input>& inputs, const Execute& execute) const;
  std::shared_ptr<RnsPolys> copy(const RnsPolys& residues) const;

  const std::shared_ptr<const Context> context_;
  const std::size_t most_bytes_, most_;
  std::mutex mutex_;
  std::list<std::unique_ptr<Run>> idle_;  // most recently used first
  std::size_t num_busy_ = 0;
  std::set<Integers> unfit_;  // of runs that cannot be replayed
};

}  // namespace lw
