#include "backend/gpu/launch_times.hpp"

#include <algorithm>
#include <utility>

#include "backend/gpu/card.hpp"

namespace lw::gpu {
namespace {

constexpr std::size_t kMostUnderWay = 1024;  // calls; half of them are read when there are so many

}  // namespace

std::optional<LaunchTimes::Timed> LaunchTimes::begin(int queue, const char* what, std::size_t bytes) noexcept {
  try {
    std::shared_ptr<Profile> profile = card_.profiler().profile();
    if (profile == nullptr) return std::nullopt;
    const std::lock_guard lock(mutex_);
    Timed timed = {profile, profile->begin(what, static_cast<std::uint32_t>(queue), bytes), nullptr, nullptr};
    if (!clock_.is_timed()) return timed;
    if (under_way_.size() >= kMostUnderWay) resolve(kMostUnderWay / 2);
    clock_.start(queue);
    timed.start = clock_.take();
    timed.end = clock_.take();
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
      clock_.put_back(timed.start);
      clock_.put_back(timed.end);
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
  if (!card_.is_profiled()) clock_.release();
}

void LaunchTimes::resolve(std::size_t count) {
  for (; count > 0; --count) {
    const Timed& timed = under_way_.front();
    double seconds = kNoTime;
    const bool is_timed = !card_.has_failed() && card_.driver().event_wait(timed.end) == LW_OK &&
                          card_.driver().event_elapsed(timed.start, timed.end, &seconds) == LW_OK;
    const double start = clock_.read(timed.start);
    timed.profile->add(timed.call, start, is_timed ? seconds : kNoTime);
    clock_.put_back(timed.end);
    under_way_.pop_front();
  }
}

}  // namespace lw::gpu
