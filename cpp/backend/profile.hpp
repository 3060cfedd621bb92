// A record of a device while it is profiled: each kernel and each copy, how long it took by the device's clock, and
// for which operation.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "backend/operation_scope.hpp"

namespace lw {

constexpr double kNoTime = NAN;  // of a device without a clock, or one that failed

/// A kernel or a copy on its way into a profile.
struct ProfiledCall {
  std::string kernel;
  RunningOperation running;
  std::uint32_t lane = 0;   // the device's queue, on a host the thread
  std::uint64_t bytes = 0;  // of a copy; 0: a kernel
  std::uint64_t order = 0;  // how many began before it
  std::uint64_t epoch = 0;  // of the profile when it began
};

/// One profile of one device. Sums are kept of all calls, and the first calls one by one. Safe to share between
/// threads.
class Profile {
 public:
  struct Sum {
    std::uint64_t calls = 0, timed = 0, bytes = 0;
    double seconds = 0, least = 0, most = 0;  // of those that were timed
  };
  struct Event {
    std::uint32_t kernel, operation, step;  // numbers of names
    std::uint32_t lane;
    std::uint64_t bytes, order;
    std::uint64_t operation_number, step_number;  // 0: none
    double start, seconds;                        // since the profile began; kNoTime
  };
  struct Sums {
    std::map<std::tuple<std::string, std::string, std::string>, Sum> kernels;  // operation, step, kernel
    std::map<std::string, std::uint64_t> times;  // that each operation began and called a kernel
    std::uint64_t left_out;                      // calls that are in the sums alone
  };

  /// most_events: calls that are kept one by one.
  explicit Profile(std::size_t most_events);

  /// A call by this thread, at its place in the order of all.
  ProfiledCall begin(const char* kernel, std::uint32_t lane, std::uint64_t bytes);
  /// The number of this thread, in the order of their first calls.
  std::uint32_t thread_lane();
  /// A call that is done. start: by the steady clock of the host.
  void add(const ProfiledCall& call, double start, double seconds);
  void clear();

  Sums sums() const;
  std::vector<Event> events() const;
  std::vector<std::string> names() const;

 private:
  std::uint32_t number_of(const std::string& name);

  const std::size_t most_events_;
  const double began_;
  mutable std::mutex mutex_;
  std::uint64_t epoch_;  // that no other profile has; another one after `clear`
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, std::uint32_t> threads_;
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> names_;
  Sums sums_{};
  std::vector<Event> events_;
};

/// Seconds of the steady clock.
double steady_seconds() noexcept;

/// Whether a device is profiled now. It stays until the process ends.
class Profiler {
 public:
  Profiler() = default;
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  bool is_on() const noexcept { return is_on_.load(std::memory_order_relaxed); }
  static bool is_any_on() noexcept { return how_many_on.load(std::memory_order_relaxed) > 0; }

  /// Throws lw::Error(kValue) where it is on.
  std::shared_ptr<Profile> start(std::size_t most_events);
  void stop() noexcept;
  /// The profile that is under way, or null.
  std::shared_ptr<Profile> profile() const noexcept;

 private:
  static std::atomic<int> how_many_on;
  std::atomic<bool> is_on_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<Profile> profile_;
};

/// The profiler of all backends on the host.
Profiler& host_profiler() noexcept;

}  // namespace lw
