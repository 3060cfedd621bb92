#include "backend/gpu/card.hpp"

#include <map>
#include <utility>

#include "backend/gpu/device_memory.hpp"
#include "math/error.hpp"

namespace lw::gpu {
namespace {

std::string name_of(const LwDeviceInfo& info, std::int32_t device) {
  return std::string(info.name) + " (device " + std::to_string(device) + ")";
}

std::mutex cards_mutex;
std::map<std::pair<const LwDriver*, DeviceOptions>, std::weak_ptr<Card>> cards;

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

std::shared_ptr<Card> Card::of(const LwDriver& driver, const DeviceOptions& options) {
  const std::lock_guard lock(cards_mutex);
  std::weak_ptr<Card>& known = cards[{&driver, options}];
  std::shared_ptr<Card> card = known.lock();
  if (card == nullptr || card->has_failed()) {
    card = std::make_shared<Card>(driver, options);
    known = card;
  }
  return card;
}

std::vector<std::shared_ptr<Card>> Card::all_of(const LwDriver& driver, std::int32_t device) {
  const std::lock_guard lock(cards_mutex);
  std::vector<std::shared_ptr<Card>> found;
  for (const auto& [key, known] : cards) {
    std::shared_ptr<Card> card = key.first == &driver && key.second.number == device ? known.lock() : nullptr;
    if (card != nullptr) found.push_back(std::move(card));
  }
  return found;
}

Card::Card(const LwDriver& driver, const DeviceOptions& options)
    : driver_(driver), options_(options), number_(next_number()), memory_(std::make_unique<DeviceMemory>(*this)) {
  const std::int32_t device = options.number;
  std::int32_t devices = 0;
  LwStatus status = driver.count(&devices);
  if (status == LW_OK && (device < 0 || device >= devices)) {
    throw Error(ErrorKind::kDevice, "there is no device " + std::to_string(device) + "; there are " +
                                        std::to_string(devices) + ", counted from 0");
  }
  if (status == LW_OK) status = driver.describe(device, &info_);
  if (status == LW_OK) status = driver.event_make(device, &event_);
  note(status, "the device cannot be used");
  check();
}

Card::~Card() {
  memory_.reset();
  for (LwStream* stream : streams_) {
    if (stream != nullptr) driver_.stream_free(stream);
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
  LwStream* const to = stream(after);
  LwStream* const from = stream(before);
  const std::lock_guard lock(mutex_);
  if (ordered_[after][before] >= now || to == nullptr || from == nullptr) return;
  ordered_[after][before] = now;
  if (note(driver_.event_record(event_, from), "an event")) note(driver_.event_order(to, event_), "an event");
}

void Card::wait(int number) noexcept {
  if (has_failed()) return;
  if (LwStream* const waited = stream(number); waited != nullptr) note(driver_.stream_wait(waited), "waiting");
}

void Card::wait_for_all() noexcept {
  for (int number = 0; number < kQueues; ++number) {
    if (issued_[number].load(std::memory_order_acquire) > 0) wait(number);
  }
}

bool Card::note(LwStatus status, const char* what) noexcept {
  if (status == LW_OK) return !has_failed();
  const std::lock_guard lock(failure_mutex_);
  if (has_failed()) return false;
  failure_ = status;
  try {
    const std::string reason = driver_.error_text(device(), status);
    failure_text_ = name_of(info_, device()) + ": " + what + (reason.empty() ? "" : ": " + reason);
  } catch (...) {  // without a text
  }
  has_failed_.store(true, std::memory_order_release);
  return false;
}

void Card::check() const {
  if (!has_failed()) return;
  const std::lock_guard lock(failure_mutex_);
  const bool is_memory = failure_ == LW_OUT_OF_MEMORY;
  throw Error(is_memory ? ErrorKind::kOutOfMemory : ErrorKind::kDevice,
              failure_text_ + (is_memory ? "; lower the memory budget, or use a device with more memory"
                                         : "; nothing computed on it since is to be trusted: load keys and values "
                                           "again, for a new context"));
}

}  // namespace lw::gpu
