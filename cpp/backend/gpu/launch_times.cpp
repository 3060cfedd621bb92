#include "backend/gpu/launch_times.hpp"

#include <algorithm>
#include <utility>

#include "backend/gpu/card.hpp"

namespace lw::gpu {
namespace {

constexpr std::size_t kMostUnderWay = 1024;  // calls; half of them are read when there are so many
constexpr double kFarFromBase = 1;           // second: drivers measure in float32, so the base moves along

}  // namespace

/// A device that is no chip is no measure of time either.
bool LaunchTimes::has_clock() const noexcept { return card_.info().compute_major > 0; }

std::optional<LaunchTimes::Timed> LaunchTimes::begin(int queue, const char* what, std::size_t bytes) noexcept {
  try {
    std::shared_ptr<Profile> profile = card_.profiler().profile();
    if (profile == nullptr) return std::nullopt;
    const std::lock_guard lock(mutex_);
    Timed timed = {profile, profile->begin(what, static_cast<std::uint32_t>(queue), bytes), nullptr, nullptr};
    if (!has_clock()) return timed;
    if (under_way_.size() >= kMostUnderWay) resolve(kMostUnderWay / 2);
    if (base_ == nullptr) set_base(queue);
    timed.start = event();
    timed.end = event();
    card_.record(timed.start, queue);
    return timed;
  } catch (...) {  // without a record
    return std::nullopt;
  }
}

void LaunchTimes::end(Timed& timed, int queue, bool is_well) noexcept {
  try {
    if (timed.end == nullptr) {
      if (is_well) timed.profile->add(timed.call, kNoTime, kNoTime);
      return;
    }
    if (is_well) card_.record(timed.end, queue);
    const std::lock_guard lock(mutex_);
    if (is_well) {
      under_way_.push_back(std::move(timed));
    } else {
      idle_.insert(idle_.end(), {timed.start, timed.end});
    }
  } catch (...) {  // without a record
  }
}

void LaunchTimes::settle() noexcept {
  if (card_.is_forked()) return;
  const std::lock_guard lock(mutex_);
  try {
    resolve(under_way_.size());
  } catch (...) {  // without those
    under_way_.clear();
  }
  if (card_.is_profiled()) return;
  for (LwEvent* const event : idle_) card_.driver().event_free(event);
  idle_.clear();
  if (base_ != nullptr) card_.driver().event_free(base_);
  base_ = nullptr;
}

LwEvent* LaunchTimes::event() {
  LwEvent* found = nullptr;
  if (idle_.empty()) {
    card_.note(card_.driver().event_make(card_.device(), &found), "an event");
  } else {
    found = idle_.back();
    idle_.pop_back();
  }
  return found;
}

void LaunchTimes::set_base(int queue) {
  base_ = event();
  if (base_ == nullptr || !card_.record(base_, queue)) return;
  card_.note(card_.driver().event_wait(base_), "waiting");
  base_seconds_ = steady_seconds();
}

void LaunchTimes::resolve(std::size_t count) {
  const LwDriver& driver = card_.driver();
  for (; count > 0; --count) {
    Timed& timed = under_way_.front();
    double after = kNoTime, seconds = kNoTime;
    const bool is_timed = !card_.has_failed() && driver.event_wait(timed.end) == LW_OK &&
                          driver.event_elapsed(base_, timed.start, &after) == LW_OK &&
                          driver.event_elapsed(timed.start, timed.end, &seconds) == LW_OK;
    timed.profile->add(timed.call, is_timed ? base_seconds_ + after : kNoTime, is_timed ? seconds : kNoTime);
    if (is_timed && after > kFarFromBase) {
      std::swap(base_, timed.start);
      base_seconds_ += after;
    }
    idle_.insert(idle_.end(), {timed.start, timed.end});
    under_way_.pop_front();
  }
}

}  // namespace lw::gpu
