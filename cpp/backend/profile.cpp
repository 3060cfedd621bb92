#include "backend/profile.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "math/error.hpp"

namespace lw {
namespace {

std::uint64_t next_epoch() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

const std::string& name_of(const std::shared_ptr<Operation>& operation) {
  static const std::string kNone;
  return operation == nullptr ? kNone : operation->name;
}

std::uint64_t number_in(const std::shared_ptr<Operation>& operation) noexcept {
  return operation == nullptr ? 0 : operation->number;
}

}  // namespace

double steady_seconds() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Profile::Profile(std::size_t most_events) : most_events_(most_events), began_(steady_seconds()), epoch_(next_epoch()) {}

ProfiledCall Profile::begin(const char* kernel, std::uint32_t lane, std::uint64_t bytes) {
  RunningOperation running = running_operation();
  const std::lock_guard lock(mutex_);
  if (running.operation != nullptr) {
    std::vector<std::uint64_t>& counted = running.operation->counted_in;
    if (std::ranges::find(counted, epoch_) == counted.end()) {
      counted.push_back(epoch_);
      ++sums_.times[running.operation->name];
    }
  }
  return {kernel, std::move(running), lane, bytes, next_++, epoch_};
}

std::uint32_t Profile::thread_lane() {
  static std::atomic<std::uint64_t> last = 0;
  static thread_local const std::uint64_t thread = ++last;  // the system gives its own numbers again
  const std::lock_guard lock(mutex_);
  return threads_.try_emplace(thread, static_cast<std::uint32_t>(threads_.size())).first->second;
}

void Profile::add(const ProfiledCall& call, double start, double seconds) {
  const std::string &operation = name_of(call.running.operation), &step = name_of(call.running.step);
  const std::lock_guard lock(mutex_);
  if (call.epoch != epoch_) return;
  Sum& sum = sums_.kernels[{operation, step, call.kernel}];
  ++sum.calls;
  sum.bytes += call.bytes;
  if (!std::isnan(seconds)) {
    sum.least = sum.timed == 0 ? seconds : std::min(sum.least, seconds);
    sum.most = std::max(sum.most, seconds);
    sum.seconds += seconds;
    ++sum.timed;
  }
  if (events_.size() >= most_events_) {
    ++sums_.left_out;
    return;
  }
  events_.push_back({number_of(call.kernel), number_of(operation), number_of(step), call.lane, call.bytes, call.order,
                     number_in(call.running.operation), number_in(call.running.step), start - began_, seconds});
}

std::uint32_t Profile::number_of(const std::string& name) {
  const auto [found, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return found->second;
}

void Profile::clear() {
  const std::lock_guard lock(mutex_);
  epoch_ = next_epoch();
  next_ = 0;
  sums_ = {};
  events_.clear();
}

Profile::Sums Profile::sums() const {
  const std::lock_guard lock(mutex_);
  return sums_;
}

std::vector<Profile::Event> Profile::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::vector<std::string> Profile::names() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

std::atomic<int> Profiler::how_many_on = 0;

std::shared_ptr<Profile> Profiler::start(std::size_t most_events) {
  auto made = std::make_shared<Profile>(most_events);
  const std::lock_guard lock(mutex_);
  if (profile_ != nullptr) throw Error(ErrorKind::kValue, "the device is being profiled");
  profile_ = made;
  is_on_.store(true, std::memory_order_relaxed);
  how_many_on.fetch_add(1, std::memory_order_relaxed);
  return made;
}

void Profiler::stop() noexcept {
  const std::lock_guard lock(mutex_);
  if (profile_ == nullptr) return;
  profile_ = nullptr;
  is_on_.store(false, std::memory_order_relaxed);
  how_many_on.fetch_sub(1, std::memory_order_relaxed);
}

std::shared_ptr<Profile> Profiler::profile() const noexcept {
  const std::lock_guard lock(mutex_);
  return profile_;
}

namespace {

Profiler* of_host = new Profiler;  // never destroyed: nothing says who uses it last

/// A process made by fork begins without a profile: threads that it does not have may hold the locks.
[[maybe_unused]] const int minds_forks = pthread_atfork(nullptr, nullptr, [] { of_host = new Profiler; });

}  // namespace

Profiler& host_profiler() noexcept { return *of_host; }

}  // namespace lw
