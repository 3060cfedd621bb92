// Members of a batch that go forward together: each on a thread of its own, of which one computes at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "rlwe/keys.hpp"

namespace lw {

/// A member computes until it comes to a meeting, then the next one does. The last to come does what is to be done once
/// for all, and goes on, so that there is a change of threads less than members. Threads are what keeps a member's
/// place in the middle of an operation: the operations know nothing of batches. They give the order, no more, so what
/// is computed does not depend on clocks.
class Lockstep {
 public:
  explicit Lockstep(std::size_t members) : places_(members, Place::kUnderWay), wakes_(members) {}
  Lockstep(const Lockstep&) = delete;

  /// body(member) of every member; returns when all have ended. If one throws, or tick does, which is called on this
  /// thread every 20 ms, all are ended, and that is thrown. Throws IoError where the system refuses a thread.
  void run(const std::function<void(std::size_t member)>& body, const Tick& tick);
  /// Has the computing member wait until all that have not ended are here. What `once` throws is its own error.
  void meet(std::size_t member, const std::function<void()>& once);
  /// Throws lw::Error(kCancelled) if all are to end.
  void check() const;

 private:
  enum class Place : std::uint8_t { kUnderWay, kHere, kEnded };

  void begin(std::size_t member);
  void end(std::size_t member, std::exception_ptr failure) noexcept;
  void leave(std::size_t member) noexcept;
  void fail(std::exception_ptr failure) noexcept;
  void watch(const Tick& tick);
  void wait_for_turn(std::unique_lock<std::mutex>& lock, std::size_t member);
  /// Lets the next member at a place compute, counted from one on; false if there is none.
  bool pass_on(std::size_t from, Place place) noexcept;

  std::mutex mutex_;
  std::vector<Place> places_;
  std::deque<std::condition_variable> wakes_;  // a member's turn has come
  std::condition_variable over_;               // all have ended
  std::size_t turn_ = SIZE_MAX;
  std::size_t num_ended_ = 0;
  std::exception_ptr failure_;  // the first
  std::atomic<bool> is_ending_ = false;
};

}  // namespace lw
