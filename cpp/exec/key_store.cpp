#include "exec/key_store.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "backend/operation_scope.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

constexpr std::chrono::milliseconds kTickEvery{20};
constexpr std::size_t kAskedAhead = 16;      // limbs that a disk is asked for at a time
constexpr std::size_t kAsksAfterWait = 256;  // reads that ask, after one that waited for the disk

std::uint64_t ns_since(std::chrono::steady_clock::time_point start) noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
}

std::size_t num_slots(const Context& context, const EvaluationKeyFile& file, const KeyReading& reading) noexcept {
  const std::size_t buffers = KeyStore::buffer_bytes(file, reading);
  return (reading.budget_bytes - std::min(reading.budget_bytes, buffers)) / KeyStore::limb_bytes(context);
}

}  // namespace

KeyStore::KeyStore(std::shared_ptr<const Context> context, std::shared_ptr<const EvaluationKeyFile> file,
                   KeyReading reading, KeyReadObserver on_read, KeyWaitObserver on_wait)
    : context_(std::move(context)),
      file_(std::move(file)),
      reading_(reading),
      on_read_(std::move(on_read)),
      on_wait_(std::move(on_wait)),
      key_slots_(num_slots(*context_, *file_, reading)) {}

std::size_t KeyStore::limb_bytes(const Context& context) noexcept { return 2 * context.ring().stride() * sizeof(Word); }

std::size_t KeyStore::buffer_bytes(const EvaluationKeyFile& file, const KeyReading& reading) noexcept {
  return (reading.readers + 1) * file.most_limb_bytes();
}

std::vector<const KeyView*> KeyStore::views(const std::vector<std::size_t>& keys, Level level) {
  const std::lock_guard lock(mutex_);
  std::vector<const KeyView*> views;
  for (const std::size_t key : keys) views.push_back(&key_slots_.view(key, level, file_->shape_at(key, level)));
  return views;
}

void KeyStore::announce(const std::vector<const KeyView*>& keys, KeyLimbWindows& windows) {
  const std::lock_guard lock(mutex_);
  key_slots_.announce(keys, reading_.most_limbs, windows);
}

void KeyStore::advance(KeyLimbWindows& windows) {
  const std::lock_guard lock(mutex_);
  claim_next(windows);
}

/// Runs share the slots fairly: where one has to wait, others use up what they have before they get more. Who waits has
/// nothing, who has something goes on, so that no run waits for ever.
bool KeyStore::may_claim(const KeyLimbWindows& windows, std::size_t place) const {
  return waiting_.empty() || (place == 0 && waiting_.front() == &windows);
}

/// The window in use and the next one get their slots as soon as they can; further ones only where that costs nothing.
void KeyStore::claim_next(KeyLimbWindows& windows) {
  constexpr std::size_t kNear = 2;
  const std::size_t before = wanted_.size();
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (windows[i].is_claimed) continue;
    if (!may_claim(windows, i) || !key_slots_.claim(windows[i], i < kNear, wanted_)) break;
  }
  if (wanted_.size() == before) return;
  start_readers();
  wake_.notify_all();
}

void KeyStore::start_readers() {
  if (has_started_ || closed_) return;
  has_started_ = true;
  try {
    for (unsigned i = 0; i < reading_.readers; ++i) readers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // the system refuses a thread: limbs are read when they are needed
  }
}

void KeyStore::wait(KeyLimbWindows& windows, const Tick& tick) {
  std::unique_lock lock(mutex_);
  if (windows.front().is_claimed && is_ready(windows.front())) return;
  ++stalls_;
  const auto now = std::chrono::steady_clock::now();
  Stall stall{now, now, tick};
  try {
    wait_for_slots(lock, windows, stall);
    wait_for_limbs(lock, windows, stall);
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    stall_ns_ += ns_since(stall.start);
    throw;
  }
  stall_ns_ += ns_since(stall.start);
}

void KeyStore::look_up(std::unique_lock<std::mutex>& lock, Stall& stall) {
  lock.unlock();
  if (const auto now = std::chrono::steady_clock::now(); on_wait_ && now - stall.told >= reading_.tell_every) {
    stall.told = now;
    on_wait_(now - stall.start);
  }
  call(stall.tick);
  lock.lock();
}

/// The deadline is for moments in which nothing moves: other runs may take as long as they want.
void KeyStore::wait_for_slots(std::unique_lock<std::mutex>& lock, KeyLimbWindows& windows, Stall& stall) {
  if (windows.front().is_claimed) return;
  waiting_.push_back(&windows);  // until it has them, or the run ends
  std::uint64_t num_retired = num_retired_;
  auto deadline = std::chrono::steady_clock::now() + reading_.deadline;
  for (;;) {
    claim_next(windows);
    if (windows.front().is_claimed) break;
    wake_.wait_for(lock, kTickEvery);
    const auto now = std::chrono::steady_clock::now();
    if (num_retired != num_retired_) {
      num_retired = num_retired_;
      deadline = now + reading_.deadline;
    } else if (now > deadline) {
      throw IoError(ETIMEDOUT, "other runs hold all of the memory for keys, and have not gone on within " +
                                   std::to_string(reading_.deadline.count()) + " ms");
    }
    look_up(lock, stall);
  }
  std::erase(waiting_, &windows);
  wake_.notify_all();
}

void KeyStore::wait_for_limbs(std::unique_lock<std::mutex>& lock, const KeyLimbWindows& windows, Stall& stall) {
  const auto deadline = std::chrono::steady_clock::now() + reading_.deadline;
  std::vector<std::uint8_t> buffer;
  while (!is_ready(windows.front())) {
    if (KeyLimb* key_limb = find_wanted_limb(windows.front())) {
      read(lock, *key_limb, false, buffer);
    } else {
      wake_.wait_for(lock, kTickEvery);
      if (std::chrono::steady_clock::now() > deadline) {
        throw IoError(ETIMEDOUT, "rows of keys have not come within " + std::to_string(reading_.deadline.count()) +
                                     " ms: the disk is too slow or does not answer");
      }
    }
    look_up(lock, stall);
  }
}

void KeyStore::retire_first(KeyLimbWindows& windows) {
  const std::lock_guard lock(mutex_);
  key_slots_.retire(windows.front());
  windows.pop_front();
  ++num_retired_;
  claim_next(windows);
  wake_.notify_all();  // other runs may have room now
}

void KeyStore::retire_all(KeyLimbWindows& windows) noexcept {
  const std::lock_guard lock(mutex_);
  for (const KeyLimbWindow& window : windows) key_slots_.retire(window);
  windows.clear();
  ++num_retired_;
  std::erase(waiting_, &windows);
  std::erase_if(wanted_, [](const KeyLimb* key_limb) { return key_limb->state != KeyLimb::State::kWanted; });
  wake_.notify_all();
}

KeyLimb* KeyStore::find_wanted_limb(const KeyLimbWindow& window) const {
  KeyLimb* found = nullptr;
  window.for_each([&](KeyLimb& key_limb) {
    if (found == nullptr && key_limb.state == KeyLimb::State::kWanted) found = &key_limb;
  });
  return found;
}

bool KeyStore::is_ready(const KeyLimbWindow& window) {
  bool ready = true;
  window.for_each([&](const KeyLimb& key_limb) { ready = ready && key_limb.state == KeyLimb::State::kReady; });
  return ready;
}

/// Slots are made when they are first used, and stay. Asking for one to write makes the running queue wait for those
/// that have read what was there before.
LimbView KeyStore::slot_of(KeyLimb& key_limb) {
  while (slots_.size() <= key_limb.slot) slots_.emplace_back(context_->ring(), LimbList{0}, 2);
  key_limb.place = &slots_[key_limb.slot];
  LimbView view = slots_[key_limb.slot].view();
  view.limbs = {&key_limb.limb, 1};
  return view;
}

/// A disk reads while limbs that have come are expanded, and several at a time. What is in the system's cache needs no
/// asking.
std::vector<const KeyLimb*> KeyStore::ask_ahead() {
  std::vector<const KeyLimb*> asked;
  if (asks_ == 0) return asked;
  --asks_;
  while (!wanted_.empty() && wanted_.front()->state != KeyLimb::State::kWanted) wanted_.pop_front();
  for (std::size_t i = 0; i < std::min(wanted_.size(), kAskedAhead); ++i) {
    if (wanted_[i]->state != KeyLimb::State::kWanted || wanted_[i]->is_asked_for) continue;
    wanted_[i]->is_asked_for = true;
    asked.push_back(wanted_[i]);
  }
  return asked;
}

void KeyStore::read(std::unique_lock<std::mutex>& lock, KeyLimb& key_limb, bool is_ahead,
                    std::vector<std::uint8_t>& buffer) {
  const LimbView to = slot_of(key_limb);
  key_limb.state = KeyLimb::State::kReading;
  ++key_limb.claims;  // it stays where it is
  const std::vector<const KeyLimb*> asked = ask_ahead();
  bool is_at_hand = true;
  lock.unlock();
  std::exception_ptr failure;
  try {
    const OperationScope scope(OperationKind::kCall, "read keys");
    if (on_read_) on_read_(key_limb.key, is_ahead);
    for (const KeyLimb* next : asked) file_->will_need(next->key, next->digit, next->limb);
    is_at_hand = file_->read_limb(key_limb.key, key_limb.digit, key_limb.limb, to, buffer);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  --key_limb.claims;
  if (!is_at_hand) asks_ = kAsksAfterWait;
  key_limb.is_asked_for = false;
  key_limb.state = failure ? KeyLimb::State::kWanted : KeyLimb::State::kReady;
  if (failure && key_limb.claims == 0) key_slots_.drop(key_limb);
  if (!failure) {
    ++loads_;
    if (is_ahead) ++prefetched_;
  }
  wake_.notify_all();
  if (failure) std::rethrow_exception(failure);
}

void KeyStore::work() noexcept {
  const QueueScope scope;
  std::vector<std::uint8_t> buffer;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return closed_ || !wanted_.empty(); });
    if (closed_) return;
    KeyLimb* key_limb = wanted_.front();
    wanted_.pop_front();
    if (key_limb->state != KeyLimb::State::kWanted) continue;
    try {
      read(lock, *key_limb, true, buffer);
      continue;
    } catch (...) {   // who needs the limb reads it again, and meets the error
      lock.unlock();  // an error of Python waits for its interpreter when it goes
    }
    lock.lock();
  }
}

void KeyStore::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  wake_.notify_all();
  for (std::thread& reader : readers_) reader.join();
  readers_.clear();
}

KeyTraffic KeyStore::traffic() const {
  const std::lock_guard lock(mutex_);
  const std::size_t each = limb_bytes(*context_), buffers = loads_ > 0 ? buffer_bytes(*file_, reading_) : 0;
  return {key_slots_.num_used() * each + buffers,
          key_slots_.most_used() * each + buffers,
          key_slots_.num_held(),
          each,
          loads_,
          key_slots_.num_hits(),
          prefetched_,
          stalls_,
          stall_ns_,
          file_->touched_bytes()};
}

}  // namespace lw
