// The time of a device's events, by the steady clock of the host.
#pragma once

#include <vector>

#include "backend/gpu/driver.h"

namespace lw::gpu {

class Card;

/// Events of a card, which are used again. Not safe to share between threads.
class EventClock {
 public:
  explicit EventClock(Card& card) noexcept : card_(card) {}
  ~EventClock() { release(); }
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  /// A device that is no chip is no measure of time either.
  bool is_timed() const noexcept;
  /// Starts the clock, before the first event that is timed: the host waits for the queue.
  void start(int queue);
  /// Takes an event that nobody else has; nullptr after a failure.
  LwEvent* take();
  void put_back(LwEvent* event) { idle_.push_back(event); }
  /// Seconds at an event that is done, which is put back; NaN after a failure.
  double read(LwEvent* event);
  /// Frees all events that were put back; it is to be started again.
  void release() noexcept;

 private:
  Card& card_;
  std::vector<LwEvent*> idle_;
  LwEvent* base_ = nullptr;
  double base_seconds_ = 0;
};

}  // namespace lw::gpu
