#include "exec/mapped_keys.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include "math/error.hpp"

namespace lw {
/// The keys that one process has in memory, and its background thread.
class MappedKeys::Store : public std::enable_shared_from_this<Store> {
 public:
  /// A key of the file at a level.
  struct Wanted {
    std::size_t key;
    Level level;
    bool operator==(const Wanted&) const = default;
  };

  Store(std::shared_ptr<const Context> context, std::shared_ptr<const EvaluationKeyFile> file, std::size_t budget_bytes,
        KeyReadObserver on_read)
      : context_(std::move(context)),
        file_(std::move(file)),
        budget_bytes_(budget_bytes),
        on_read_(std::move(on_read)) {}

  bool is_ours() const noexcept { return process_ == getpid(); }

  void prefetch(const Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    if (closed_ || find(wanted) != entries_.end()) return;
    if (std::find(queue_.begin(), queue_.end(), wanted) != queue_.end()) return;
    queue_.push_back(wanted);
    if (!worker_.joinable()) start_worker();
    wake_.notify_all();
  }

  KeyLease acquire(const Wanted& wanted) {
    std::unique_lock lock(mutex_);
    const std::size_t bytes = file_->bytes_in_memory(wanted.key, wanted.level);
    for (bool has_waited = false;; has_waited = true) {
      const auto place = find(wanted);
      if (place == entries_.end()) {
        if (make_room(bytes, true) || !is_reading_ahead()) break;  // what is read ahead can make room when it is read
      } else if (place->key != nullptr) {
        return lease(place);
      }
      if (!has_waited) ++waits_;
      wake_.wait(lock);  // somebody is reading it, or what is in its way, and will say so, also if that fails
    }
    std::erase(queue_, wanted);
    return lease(load(lock, wanted, bytes, false));
  }

  /// Ends the thread and forgets all keys but those in use, which go when they are given back.
  void close() noexcept {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      queue_.clear();
    }
    wake_.notify_all();
    if (worker_.joinable()) worker_.join();
    const std::lock_guard lock(mutex_);
    make_room(budget_bytes_, true);
  }

  KeyTraffic traffic() const {
    const std::lock_guard lock(mutex_);
    return {resident_bytes_, peak_bytes_, loads_, prefetched_, waits_, file_->touched_bytes()};
  }

 private:
  struct HeldKey {
    Wanted wanted;
    std::size_t bytes;
    std::shared_ptr<const EvaluationKey> key;  // null while it is being read
    std::size_t leases = 0;
    bool is_awaited = false;  // prefetched, and not used yet
  };
  using HeldKeyPlace = std::list<HeldKey>::iterator;

  /// An entry of this key that covers the level.
  HeldKeyPlace find(const Wanted& wanted) {
    const Parameters& parameters = context_->parameters();
    return std::find_if(entries_.begin(), entries_.end(), [&](const HeldKey& entry) {
      if (entry.wanted.key != wanted.key) return false;
      if (entry.wanted.level == wanted.level) return true;
      return !find_runs(parameters.basis(entry.wanted.level), parameters.basis(wanted.level)).empty();
    });
  }

  /// What a lease keeps alive. The key goes before its entry may, so that the entry's is the last one.
  struct Loan {
    std::shared_ptr<Store> store;
    std::shared_ptr<const EvaluationKey> key;
    HeldKeyPlace place;
    ~Loan() {
      key.reset();
      if (store->is_ours()) store->give_back(place);
    }
  };

  KeyLease lease(HeldKeyPlace place) {
    const auto loan = std::make_shared<Loan>(shared_from_this(), place->key, place);
    ++place->leases;
    place->is_awaited = false;
    entries_.splice(entries_.begin(), entries_, place);
    return KeyLease(loan, loan->key.get());
  }

  void give_back(HeldKeyPlace place) noexcept {
    {
      const std::lock_guard lock(mutex_);
      --place->leases;
      if (closed_) {
        make_room(budget_bytes_, true);
      } else {
        make_room(0, false);
      }
    }
    wake_.notify_all();  // there may be room for a prefetch now
  }

  /// Lets go of idle keys until `bytes` more fit the budget: the least recently used first; then, if `even_awaited`,
  /// prefetched ones that wait for their use, the last to be used first. Whether they fit then.
  bool make_room(std::size_t bytes, bool even_awaited) noexcept {
    const auto fits = [&] { return bytes <= budget_bytes_ && resident_bytes_ <= budget_bytes_ - bytes; };
    for (HeldKeyPlace place = entries_.end(); !fits() && place != entries_.begin();) {
      --place;
      if (is_idle(*place) && !place->is_awaited) place = forget(place);
    }
    for (HeldKeyPlace place = entries_.begin(); even_awaited && !fits() && place != entries_.end();) {
      place = is_idle(*place) ? forget(place) : std::next(place);
    }
    return fits();
  }

  static bool is_idle(const HeldKey& entry) noexcept { return entry.key != nullptr && entry.leases == 0; }
  HeldKeyPlace forget(HeldKeyPlace place) noexcept {
    resident_bytes_ -= place->bytes;
    return entries_.erase(place);
  }

  /// Whether the background thread reads a key, which takes room and cannot be let go of meanwhile.
  bool is_reading_ahead() const noexcept {
    return std::any_of(entries_.begin(), entries_.end(),
                       [](const HeldKey& entry) { return entry.key == nullptr && entry.is_awaited; });
  }

  /// Reads a key, for which room was made, while the lock is open. Throws what reading throws, leaving no trace of it.
  HeldKeyPlace load(std::unique_lock<std::mutex>& lock, const Wanted& wanted, std::size_t bytes, bool in_background) {
    const HeldKeyPlace place = entries_.insert(entries_.begin(), {wanted, bytes, nullptr, 0, in_background});
    resident_bytes_ += bytes;
    peak_bytes_ = std::max(peak_bytes_, resident_bytes_);
    lock.unlock();
    std::shared_ptr<const EvaluationKey> key;
    try {
      if (on_read_) on_read_(wanted.key, in_background);
      key = std::make_shared<const EvaluationKey>(file_->read(wanted.key, wanted.level));
    } catch (...) {
      lock.lock();
      forget(place);
      wake_.notify_all();
      throw;
    }
    lock.lock();
    place->key = std::move(key);
    ++loads_;
    if (in_background) ++prefetched_;
    wake_.notify_all();
    return place;
  }

  void start_worker() {
    try {
      worker_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      queue_.clear();  // the system refuses a thread: keys are read when they are acquired
    }
  }

  void work() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return closed_ || has_room_for_next(); });
      if (closed_) return;
      const Wanted wanted = queue_.front();
      queue_.pop_front();
      try {
        (void)load(lock, wanted, file_->bytes_in_memory(wanted.key, wanted.level), true);
      } catch (...) {  // whoever acquires the key reads it again, and meets the error
        if (!lock.owns_lock()) lock.lock();
      }
    }
  }

  /// Also throws away requests that were served meanwhile.
  bool has_room_for_next() {
    while (!queue_.empty() && find(queue_.front()) != entries_.end()) queue_.pop_front();
    if (queue_.empty()) return false;
    const Wanted& next = queue_.front();
    return make_room(file_->bytes_in_memory(next.key, next.level), false);
  }

  const pid_t process_ = getpid();
  const std::shared_ptr<const Context> context_;
  const std::shared_ptr<const EvaluationKeyFile> file_;
  const std::size_t budget_bytes_;
  const KeyReadObserver on_read_;
  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable wake_;
  std::list<HeldKey> entries_;  // most recently used first
  std::deque<Wanted> queue_;    // to be prefetched
  std::size_t resident_bytes_ = 0, peak_bytes_ = 0;
  std::uint64_t loads_ = 0, prefetched_ = 0, waits_ = 0;
  bool closed_ = false;
  std::thread worker_;
};

MappedKeys::MappedKeys(std::shared_ptr<const Context> context, const std::string& path, std::size_t budget_bytes,
                       KeyReadObserver on_read)
    : context_(std::move(context)),
      file_(std::make_shared<const EvaluationKeyFile>(Source{path, {}}, *context_)),
      budget_bytes_(budget_bytes),
      on_read_(std::move(on_read)) {}

MappedKeys::~MappedKeys() {
  const std::shared_ptr<Store>* store = store_.load();
  // What the parent of a fork had is left alone: destroying its locks could wait for threads that are not here.
  if (store == nullptr || !(*store)->is_ours()) return;
  (*store)->close();
  delete store;
}

MappedKeys::Store& MappedKeys::store() const {
  std::shared_ptr<Store>* current = store_.load(std::memory_order_acquire);
  if (current != nullptr && (*current)->is_ours()) return **current;
  // After a fork the parent's is left alone: another thread may have held its lock, and will never let go of it.
  auto fresh =
      std::make_unique<std::shared_ptr<Store>>(std::make_shared<Store>(context_, file_, budget_bytes_, on_read_));
  if (store_.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel)) return **fresh.release();
  return **current;
}

void MappedKeys::prefetch(const KeySpec& spec) {
  if (const auto key = file_->find(spec)) store().prefetch({*key, spec.level});
}

KeyLease MappedKeys::acquire(const KeySpec& spec) {
  if (const auto key = file_->find(spec)) return store().acquire({*key, spec.level});
  throw Error(ErrorKind::kMissingKey,
              "the key file does not hold the " + describe(spec, context_->degree()) + " for " + to_string(spec.level));
}

KeyTraffic MappedKeys::traffic() const { return store().traffic(); }

}  // namespace lw
