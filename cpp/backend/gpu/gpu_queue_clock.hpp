// Moments on a queue of a card, told by its events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "backend/device.hpp"
#include "backend/gpu/card.hpp"
#include "backend/gpu/event_clock.hpp"

namespace lw::gpu {

class GpuQueueClock final : public QueueClock {
 public:
  GpuQueueClock(std::shared_ptr<Card> card, int queue);
  ~GpuQueueClock() override;

  std::size_t mark() override;
  std::size_t num_past(bool wait) override;
  bool is_timed() const noexcept override { return clock_.is_timed(); }
  std::uint64_t time_ns(std::size_t moment) const noexcept override { return times_ns_[moment]; }

 private:
  const std::shared_ptr<Card> card_;
  const int queue_;
  EventClock clock_;
  std::deque<LwEvent*> under_way_;
  std::vector<std::uint64_t> times_ns_;  // of those that are past
};

}  // namespace lw::gpu
