#include "backend/gpu/event_clock.hpp"

#include <cmath>
#include <utility>

#include "backend/gpu/card.hpp"

namespace lw::gpu {
namespace {

constexpr double kFarFromBase = 1;  // second: drivers measure in float32, so the base moves along

}  // namespace

bool EventClock::is_timed() const noexcept { return card_.info().has_clock != 0; }

void EventClock::start(int queue) {
  if (base_ != nullptr || !is_timed()) return;
  base_ = take();
  if (base_ == nullptr || !card_.record(base_, queue)) return;
  card_.note(card_.driver().event_wait(base_), "waiting");
  base_seconds_ = steady_seconds();
}

LwEvent* EventClock::take() {
  LwEvent* found = nullptr;
  if (card_.has_failed()) return found;
  if (idle_.empty()) {
    card_.note(card_.driver().event_make(card_.device(), &found), "an event");
  } else {
    found = idle_.back();
    idle_.pop_back();
  }
  return found;
}

double EventClock::read(LwEvent* event) {
  double after = NAN;
  const bool is_read =
      !card_.has_failed() && base_ != nullptr && card_.driver().event_elapsed(base_, event, &after) == LW_OK;
  const double seconds = is_read ? base_seconds_ + after : NAN;
  if (is_read && after > kFarFromBase) {
    std::swap(base_, event);
    base_seconds_ = seconds;
  }
  put_back(event);
  return seconds;
}

void EventClock::release() noexcept {
  if (base_ != nullptr) card_.driver().event_free(std::exchange(base_, nullptr));
  for (LwEvent* const event : idle_) {
    if (event != nullptr) card_.driver().event_free(event);
  }
  idle_.clear();
}

}  // namespace lw::gpu
