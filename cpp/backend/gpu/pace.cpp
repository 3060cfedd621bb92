#include "backend/gpu/pace.hpp"

#include "backend/gpu/card.hpp"

namespace lw::gpu {

Pace::~Pace() {
  for (LwEvent* mark : marks_) {
    if (mark != nullptr) card_.driver().event_free(mark);
  }
}

bool Pace::is_behind() noexcept {
  const std::uint64_t calls = card_.issued(queue_);
  const std::lock_guard lock(mutex_);
  if (calls - marked_ < kEvery || card_.has_failed() || card_.recording(queue_) != nullptr) return false;
  LwEvent*& oldest = marks_[next_];
  if (oldest == nullptr) {
    if (!card_.note(card_.driver().event_make(card_.device(), &oldest), "an event")) return false;
  } else {
    std::int32_t is_done = 0;
    if (card_.note(card_.driver().event_done(oldest, &is_done), "an event") && is_done == 0) return true;
  }
  card_.record(oldest, queue_);
  marked_ = calls;
  next_ = (next_ + 1) % kMarks;
  return false;
}

}  // namespace lw::gpu
