#include "backend/gpu/card.hpp"

#include <pthread.h>

#include <map>
#include <utility>

#include "backend/gpu/device_memory.hpp"
#include "backend/gpu/recording.hpp"
#include "math/error.hpp"

namespace lw::gpu {
namespace {

std::string name_of(const LwDeviceInfo& info, std::int32_t device) {
  const std::string number = "device " + std::to_string(device);
  return info.name[0] == '\0' ? number : std::string(info.name) + " (" + number + ")";
}

struct Failures {
  std::uint64_t count = 0;
  Failure latest;
};

struct Known {
  std::mutex cards_mutex;
  std::map<std::pair<const LwDriver*, DeviceOptions>, std::weak_ptr<Card>> cards;
  std::mutex failures_mutex;
  std::map<std::pair<const LwDriver*, std::int32_t>, Failures> failures;
  std::mutex profilers_mutex;
  std::map<std::pair<const LwDriver*, std::int32_t>, Profiler> profilers;
};

Known* known_here = new Known;              // never destroyed: nothing says who uses it last
std::atomic<std::uint64_t> generation = 0;  // of this process: forks between the first one and it

/// A child begins without any: threads that it does not have may hold the locks.
[[maybe_unused]] const int minds_forks = pthread_atfork(nullptr, nullptr, [] {
  ++generation;
  known_here = new Known;
});

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

std::shared_ptr<Card> Card::of(const LwDriver& driver, const DeviceOptions& options) {
  const std::lock_guard lock(known_here->cards_mutex);
  std::weak_ptr<Card>& known = known_here->cards[{&driver, options}];
  std::shared_ptr<Card> card = known.lock();
  if (card == nullptr || card->has_failed()) {
    card = std::make_shared<Card>(driver, options);
    known = card;
  }
  return card;
}

std::vector<std::shared_ptr<Card>> Card::all_of(const LwDriver& driver, std::int32_t device) {
  const std::lock_guard lock(known_here->cards_mutex);
  std::vector<std::shared_ptr<Card>> found;
  for (const auto& [key, known] : known_here->cards) {
    std::shared_ptr<Card> card = key.first == &driver && key.second.number == device ? known.lock() : nullptr;
    if (card != nullptr) found.push_back(std::move(card));
  }
  return found;
}

Profiler& Card::profiler_of(const LwDriver& driver, std::int32_t device) {
  const std::lock_guard lock(known_here->profilers_mutex);
  return known_here->profilers[{&driver, device}];
}

std::uint64_t Card::failures_of(const LwDriver& driver, std::int32_t device) {
  const std::lock_guard lock(known_here->failures_mutex);
  return known_here->failures[{&driver, device}].count;
}

void Card::check_latest(const LwDriver& driver, std::int32_t device) {
  const std::lock_guard lock(known_here->failures_mutex);
  known_here->failures[{&driver, device}].latest.check();
}

Card::Card(const LwDriver& driver, const DeviceOptions& options)
    : driver_(driver),
      options_(options),
      number_(next_number()),
      generation_(generation.load()),
      memory_(std::make_unique<DeviceMemory>(*this)),
      profiler_(profiler_of(driver, options.number)),
      times_(*this) {
  const std::int32_t device = options.number;
  std::int32_t devices = 0;
  LwStatus status = driver.count(&devices);
  if (status == LW_OK && (device < 0 || device >= devices)) {
    throw Error(ErrorKind::kDevice, "there is no device " + std::to_string(device) + "; there are " +
                                        std::to_string(devices) + ", counted from 0");
  }
  if (status == LW_OK) status = driver.describe(device, &info_);
  if (status == LW_OK) status = driver.event_make(device, &event_);
  for (int number = 0; number < kQueues; ++number) paces_.emplace_back(*this, number);
  note(status, "the device cannot be used");
  check();
}

Card::~Card() {
  times_.settle();
  paces_.clear();
  memory_.reset();
  for (LwStream* stream : streams_) {
    if (stream != nullptr) driver_.stream_free(stream);
  }
  for (LwEvent* tail : tails_) {
    if (tail != nullptr) driver_.event_free(tail);
  }
  driver_.event_free(event_);
}

LwStream* Card::stream(int number) noexcept {
  if (has_failed()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (streams_[number] == nullptr) note(driver_.stream_make(device(), &streams_[number]), "a queue cannot be made");
  return streams_[number];
}

bool Card::record(LwEvent* event, int number) noexcept {
  LwStream* const from = stream(number);
  return from != nullptr && note(driver_.event_record(event, from), "an event");
}

void Card::order(int after, int before) noexcept {
  const std::uint64_t now = issued_[before].load(std::memory_order_acquire);
  if (after == before || now == 0 || has_failed()) return;
  if (GpuRecording* const waits = recording(after)) {
    waits->await(before);
    return;
  }
  LwStream* const to = stream(after);
  LwStream* const from = stream(before);
  const std::lock_guard lock(mutex_);
  if (ordered_[after][before] >= now || to == nullptr || from == nullptr) return;
  ordered_[after][before] = now;
  if (LwEvent* const end = end_of(before)) note(driver_.event_order(to, end), "an event");
}

LwEvent* Card::end_of(int number) noexcept {
  if (recording(number) != nullptr) return tails_[number];
  return note(driver_.event_record(event_, streams_[number]), "an event") ? event_ : nullptr;
}

void Card::wait(int number) noexcept {
  if (is_forked() || recording(number) != nullptr) return;
  LwStream* waited = nullptr;
  {
    const std::lock_guard lock(mutex_);
    waited = streams_[number];
  }
  if (waited != nullptr) note(driver_.stream_wait(waited), "waiting");
}

bool Card::is_forked() const noexcept { return generation_ != generation.load(std::memory_order_relaxed); }

void Card::wait_for_all() noexcept {
  LwEvent* end = nullptr;
  for (int number = 0; number < kQueues; ++number) {
    if (has_failed() || issued_[number].load(std::memory_order_acquire) == 0) continue;
    if (end == nullptr && !note(driver_.event_make(device(), &end), "an event")) return;
    LwEvent* waited = end;
    {
      const std::lock_guard lock(mutex_);
      if (streams_[number] == nullptr) continue;
      if (recording(number) != nullptr) {
        waited = tails_[number];
      } else {
        note(driver_.event_record(end, streams_[number]), "an event");
      }
    }
    note(driver_.event_wait(waited), "waiting");
  }
  if (end != nullptr) driver_.event_free(end);
}

void Card::begin_capture(GpuRecording& recording) noexcept {
  const int number = recording.queue().value();
  LwStream* const captured = stream(number);
  if (captured == nullptr) return;
  const std::lock_guard lock(mutex_);
  LwEvent*& tail = tails_[number];
  if (tail == nullptr && !note(driver_.event_make(device(), &tail), "an event")) return;
  if (!note(driver_.event_record(tail, captured), "an event")) return;
  if (note(driver_.capture_begin(captured), "a capture")) recordings_[number].store(&recording);
}

LwGraph* Card::end_capture(int number) noexcept {
  if (is_forked()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (recordings_[number].exchange(nullptr) == nullptr) return nullptr;
  LwGraph* graph = nullptr;
  if (note(driver_.capture_end(streams_[number], &graph), "a capture")) return graph;
  if (graph != nullptr) driver_.graph_free(graph);
  return nullptr;
}

bool Card::give_up_recording(int number) noexcept {
  GpuRecording* const capturing = recording(number);
  if (capturing != nullptr) capturing->give_up();
  return capturing != nullptr;
}

void Card::replay(LwGraph* graph, std::size_t calls, int number) noexcept {
  LwStream* const to = stream(number);
  if (to == nullptr) return;
  note(driver_.graph_replay(graph, to), "a replay");
  issued_[number].fetch_add(calls, std::memory_order_release);
}

void Card::add_spare(std::weak_ptr<Spare> spare) {
  const std::lock_guard lock(mutex_);
  std::erase_if(spares_, [](const auto& known) { return known.expired(); });
  spares_.push_back(std::move(spare));
}

void Card::drop_spares() noexcept {
  std::vector<std::weak_ptr<Spare>> known;
  {
    const std::lock_guard lock(mutex_);
    known = spares_;
  }
  for (const auto& weak : known) {
    if (const std::shared_ptr<Spare> spare = weak.lock()) spare->drop();
  }
}

void* Card::memory_for(std::size_t bytes, int number) noexcept {
  if (void* const found = memory_->get(bytes, number)) return found;
  if (has_failed()) return nullptr;
  drop_spares();
  return memory_->get(bytes, number);
}

bool Card::note(LwStatus status, const char* what) noexcept {
  if (status == LW_OK) return !has_failed();
  const std::lock_guard lock(failure_mutex_);
  if (has_failed()) return false;
  failure_.status = status;
  try {
    const std::string reason = driver_.error_text(device(), status);
    failure_.text = name_of(info_, device()) + ": " + what + (reason.empty() ? "" : ": " + reason);
    const std::lock_guard all(known_here->failures_mutex);
    Failures& of_device = known_here->failures[{&driver_, device()}];
    ++of_device.count;
    of_device.latest = failure_;
  } catch (...) {  // without a text
  }
  has_failed_.store(true, std::memory_order_release);
  return false;
}

void Card::check() const {
  if (!has_failed()) return;
  if (is_forked()) {
    throw Error(ErrorKind::kDevice, name_of(info_, device()) +
                                        ": a process made by fork has no devices, they stay with its parent: use them "
                                        "in one that is started anew");
  }
  const std::lock_guard lock(failure_mutex_);
  failure_.check();
}

void Failure::check() const {
  if (status == LW_OK) return;
  const bool is_memory = status == LW_OUT_OF_MEMORY;
  throw Error(is_memory ? ErrorKind::kOutOfMemory : ErrorKind::kDevice,
              text + (is_memory ? "; lower the memory budget, or use a device with more memory"
                                : "; nothing computed on it since is to be trusted: load keys and values again, for a "
                                  "new context"));
}

}  // namespace lw::gpu
