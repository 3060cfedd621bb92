// One device behind a driver, for all rings that compute on it: its streams, their order, its memory, and the first
// failure there was.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "backend/gpu/driver.h"
#include "backend/gpu/launch_times.hpp"
#include "backend/gpu/pace.hpp"

namespace lw::gpu {

class DeviceMemory;
class GpuRecording;

/// The first failure of a card: its status and its message.
struct Failure {
  LwStatus status = LW_OK;
  std::string text;

  /// Throws lw::Error(kOutOfMemory) or kDevice, unless nothing went wrong.
  void check() const;
};

constexpr int kQueues = 64;  // numbers of queues, each of which has a stream
/// The bit of a queue in a set of queues.
constexpr std::uint64_t queue_bit(int number) noexcept { return std::uint64_t{1} << number; }
constexpr std::uint64_t kAllQueues = ~std::uint64_t{0};

/// A device of a driver, with its queues and its memory. After a failure it computes nothing more on the driver, and
/// `check` throws: what was being computed may be wrong, and whoever asks for a result is told. A new card for the
/// device starts afresh. In a process made by fork the cards of its parent have failed, whose locks may be held by
/// threads that are not there. Safe to share between threads.
class Card {
 public:
  /// The card of a device of a driver: the same one for all who ask with the same options, while it has not failed.
  /// Throws lw::Error(kDevice).
  static std::shared_ptr<Card> of(const LwDriver& driver, const DeviceOptions& options);
  /// All cards of a device now, whatever their options, but for those that failed and were replaced.
  static std::vector<std::shared_ptr<Card>> all_of(const LwDriver& driver, std::int32_t device);
  /// The number of cards of a device that ever failed.
  static std::uint64_t failures_of(const LwDriver& driver, std::int32_t device);
  /// Throws as `check` of the card that failed last, though it may be gone.
  static void check_latest(const LwDriver& driver, std::int32_t device);

  /// The profiler that all cards of a device share.
  static Profiler& profiler_of(const LwDriver& driver, std::int32_t device);

  Card(const LwDriver& driver, const DeviceOptions& options);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  const LwDriver& driver() const noexcept { return driver_; }
  std::int32_t device() const noexcept { return options_.number; }
  const DeviceOptions& options() const noexcept { return options_; }
  /// A number that no other card has, from 1 on.
  std::uint64_t number() const noexcept { return number_; }
  const LwDeviceInfo& info() const noexcept { return info_; }
  DeviceMemory& memory() noexcept { return *memory_; }
  Profiler& profiler() noexcept { return profiler_; }
  /// Whether each kernel is to be launched by itself, so that it can be timed.
  bool is_profiled() const noexcept { return profiler_.is_on() && !is_forked(); }
  LaunchTimes& times() noexcept { return times_; }
  /// Calls a function of the driver on the stream of a queue, unless something failed before. Returns whether all is
  /// well; `what` begins the message if it is not.
  template <class... Parameters, class... Given>
  bool call(int number, const char* what, LwStatus (*function)(LwStream*, Parameters...), Given... given) noexcept {
    LwStream* const to = stream(number);
    if (to == nullptr) return false;
    const bool is_well = note(function(to, given...), what);
    issued_[number].fetch_add(1, std::memory_order_release);
    return is_well;
  }
  /// Calls a kernel or a copy of `bytes` bytes as `call` does, and times it while the device is profiled unless it goes
  /// to a graph.
  template <class... Parameters, class... Given>
  bool timed_call(int number, const char* what, std::size_t bytes, LwStatus (*function)(LwStream*, Parameters...),
                  Given... given) noexcept {
    const auto make = [&] { return call(number, what, function, given...); };
    return is_profiled() && recording(number) == nullptr ? times_.take(number, what, bytes, make) : make();
  }

  /// Makes what is called next on one queue wait for all that was called on another so far.
  void order(int after, int before) noexcept;
  /// Records an event after all that was called on a queue so far. Returns whether all is well.
  bool record(LwEvent* event, int number) noexcept;
  /// The host waits until all that was called on the queue is done, after a failure too: copies to its memory may be
  /// under way. Not while it is captured.
  void wait(int number) noexcept;
  /// Waits for every queue as `wait` does, apart from what is captured.
  void wait_for_all() noexcept;

  /// Begins the capture of a recording: until `end_capture` what one thread calls on its queue goes to a graph, which
  /// `end_capture` returns; nullptr after a failure.
  void begin_capture(GpuRecording& recording) noexcept;
  LwGraph* end_capture(int number) noexcept;
  /// The recording that captures a queue; nullptr: what is called is carried out.
  GpuRecording* recording(int number) const noexcept { return recordings_[number].load(std::memory_order_acquire); }
  /// Has the recording that captures a queue give up. Returns whether there is one.
  bool give_up_recording(int number) noexcept;
  void replay(LwGraph* graph, std::size_t calls, int number) noexcept;

  /// The number of calls on a queue so far. `is_behind`: whether so many of them are not done yet that callers should
  /// wait.
  std::uint64_t issued(int number) const noexcept { return issued_[number].load(std::memory_order_acquire); }
  bool is_behind(int number) noexcept { return paces_[static_cast<std::size_t>(number)].is_behind(); }

  void add_spare(std::weak_ptr<Spare> spare);
  /// Has every spare drop its memory.
  void drop_spares() noexcept;
  /// Gets `bytes` from `memory` for a queue, after dropping spares if need be.
  void* memory_for(std::size_t bytes, int number) noexcept;

  bool has_failed() const noexcept { return has_failed_.load(std::memory_order_acquire) || is_forked(); }
  /// Whether this process was made by fork from the one that has the card.
  bool is_forked() const noexcept;
  /// Notes the status of a call that was about `what`, unless it is LW_OK. Returns whether all is well.
  bool note(LwStatus status, const char* what) noexcept;
  /// Throws lw::Error(kOutOfMemory) or kDevice with the first failure.
  void check() const;

 private:
  /// The stream of a queue, made when it is first needed; nullptr after a failure.
  LwStream* stream(int number) noexcept;
  /// The event at the end of a queue's calls; of a captured one, of those before the capture. nullptr: it failed.
  LwEvent* end_of(int number) noexcept;

  const LwDriver& driver_;
  const DeviceOptions options_;
  const std::uint64_t number_;
  const std::uint64_t generation_;  // of processes
  LwDeviceInfo info_{};
  std::mutex mutex_;  // guards what follows, down to the spares, and changes of recordings_
  LwStream* streams_[kQueues] = {};
  LwEvent* event_ = nullptr;                      // of the order that is being made
  std::uint64_t ordered_[kQueues][kQueues] = {};  // [after][before]: what had been issued then
  LwEvent* tails_[kQueues] = {};                  // of captured queues: after what came before the capture
  std::vector<std::weak_ptr<Spare>> spares_;
  std::atomic<GpuRecording*> recordings_[kQueues] = {};
  std::atomic<std::uint64_t> issued_[kQueues] = {};
  std::atomic<bool> has_failed_ = false;
  mutable std::mutex failure_mutex_;
  Failure failure_;
  std::unique_ptr<DeviceMemory> memory_;
  std::deque<Pace> paces_;  // of the queues
  Profiler& profiler_;
  LaunchTimes times_;
};

}  // namespace lw::gpu
