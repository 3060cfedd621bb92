// Times of kernels and copies on a card while its device is profiled: an event before and one after each, on its
// queue. What they say is read in batches, later, so that the host goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "backend/gpu/driver.h"
#include "backend/gpu/event_clock.hpp"
#include "backend/profile.hpp"

namespace lw::gpu {

class Card;

/// The launch times of one card. Safe to share between threads.
class LaunchTimes {
 public:
  explicit LaunchTimes(Card& card) noexcept : card_(card), clock_(card) {}
  ~LaunchTimes() { settle(); }
  LaunchTimes(const LaunchTimes&) = delete;
  LaunchTimes& operator=(const LaunchTimes&) = delete;

  /// Makes a call on a queue, which says whether all is well, and takes its time. bytes: of a copy.
  template <class Call>
  bool take(int queue, const char* what, std::size_t bytes, const Call& call) noexcept {
    std::optional<Timed> timed = begin(queue, what, bytes);
    const bool is_well = call();
    if (timed) end(*timed, queue, is_well);
    return is_well;
  }
  /// Waits for all that was timed, so that it is in its profile.
  void settle() noexcept;

 private:
  struct Timed {
    std::shared_ptr<Profile> profile;
    ProfiledCall call;
    LwEvent *start, *end;  // null: without a time
  };

  /// Begins to time a launch; nullopt where the profile has just ended.
  std::optional<Timed> begin(int queue, const char* what, std::size_t bytes) noexcept;
  void end(Timed& timed, int queue, bool is_well) noexcept;
  /// Reads the first `count` of those under way, after waiting for each.
  void resolve(std::size_t count);

  Card& card_;
  std::mutex mutex_;  // guards what follows
  std::deque<Timed> under_way_;
  EventClock clock_;
};

}  // namespace lw::gpu
