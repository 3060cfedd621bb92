// Memory of a run that is kept for the next one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "exec/plaintexts.hpp"

namespace lw {

/// Keeps a device from giving back, and getting anew with its page faults, what the next run needs: no more than a run
/// used, and than encoded constants leave of their budget. In a run the device keeps what that used at its peak.
class WorkingMemory {
 public:
  WorkingMemory(std::shared_ptr<const Context> context, std::shared_ptr<const PlaintextProvider> plaintexts)
      : context_(std::move(context)), plaintexts_(std::move(plaintexts)), reserve_(context_->ring().device()) {}

  /// A run that is under way as long as this exists. Runs may overlap; the last of them decides what stays.
  class Run {
   public:
    explicit Run(WorkingMemory& memory) : memory_(memory) { memory_.begin(); }
    ~Run() { memory_.end(carried_bytes_); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    /// Inputs and results belong to the caller, and are gone when the next ones come.
    void carries(std::size_t bytes) noexcept { carried_bytes_ += bytes; }

   private:
    WorkingMemory& memory_;
    std::size_t carried_bytes_ = 0;
  };

  std::size_t kept_bytes() const noexcept { return reserve_.bytes(); }

 private:
  std::size_t room() const {
    const std::size_t budget = plaintexts_->budget_bytes();
    return budget - std::min(budget, plaintexts_->cached_bytes());
  }

  void begin() {
    if (num_runs_++ > 0) return;
    started_ = context_->ring().device().now();
    context_->ring().device().begin_run();
  }

  void end(std::size_t carried_bytes) {
    if (--num_runs_ > 0) return;
    Device& device = context_->ring().device();
    reserve_.resize(std::min(room(), device.idle_since(started_) + carried_bytes));
    device.end_run();
  }

  std::shared_ptr<const Context> context_;
  std::shared_ptr<const PlaintextProvider> plaintexts_;
  Reserve reserve_;
  std::atomic<int> num_runs_ = 0;
  std::atomic<std::uint64_t> started_ = 0;  // by the device's clock
};

}  // namespace lw
