#include "backend/gpu/gpu_queue_clock.hpp"

#include <utility>

namespace lw::gpu {

GpuQueueClock::GpuQueueClock(std::shared_ptr<Card> card, int queue)
    : card_(std::move(card)), queue_(queue), clock_(*card_) {
  clock_.start(queue_);
}

GpuQueueClock::~GpuQueueClock() {
  for (LwEvent* const event : under_way_) clock_.put_back(event);
}

std::size_t GpuQueueClock::mark() {
  under_way_.push_back(clock_.take());
  if (under_way_.back() != nullptr) card_->record(under_way_.back(), queue_);
  return times_ns_.size() + under_way_.size() - 1;
}

std::size_t GpuQueueClock::num_past(bool wait) {
  while (!under_way_.empty() && !card_->has_failed()) {
    LwEvent* const event = under_way_.front();
    std::int32_t is_done = 1;
    if (!card_->note(wait ? card_->driver().event_wait(event) : card_->driver().event_done(event, &is_done),
                     "an event") ||
        is_done == 0) {
      break;
    }
    const double seconds = is_timed() ? clock_.read(event) : 0;
    if (!is_timed()) clock_.put_back(event);
    times_ns_.push_back(seconds > 0 ? static_cast<std::uint64_t>(seconds * 1e9) : 0);
    under_way_.pop_front();
  }
  return times_ns_.size();
}

}  // namespace lw::gpu
