#include "backend/thread_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace lw {
namespace {

// Loops often follow each other within microseconds, and waking a sleeping thread takes longer than many a loop: so
// threads look out for this long before they sleep. Some 30 microseconds.
constexpr unsigned kLooks = 2000;

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // waits as long as a pause of x86 does; `yield` is over at once on most cores
#endif
}

template <class Condition>
void look_out_for(const Condition& condition) noexcept {
  for (unsigned i = 0; i < kLooks && !condition(); ++i) pause();
}

}  // namespace

/// The workers of one process and the loop they share.
class ThreadPool::Team {
 public:
  explicit Team(unsigned workers) : process_(getpid()), shares_(workers + 1) {
    try {
      for (unsigned i = 1; i <= workers; ++i) workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {
      // The system refuses more threads: the calling thread and those that started do the work.
    }
  }
  ~Team() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  bool is_ours() const noexcept { return process_ == getpid(); }

  /// False if a loop is running already.
  bool try_run(std::size_t count, const void* context, Task task) noexcept {
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < shares_.size(); ++i) {
        shares_[i].next.store(count * i / shares_.size(), std::memory_order_relaxed);
        shares_[i].end = count * (i + 1) / shares_.size();
      }
      context_ = context;
      task_ = task;
      open_ = true;
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    drain(0);
    look_out_for([this] { return active_.load(std::memory_order_relaxed) == 0; });
    {
      std::unique_lock lock(mutex_);
      open_ = false;  // workers that wake up from now on find nothing
      idle_.wait(lock, [this] { return active_.load() == 0; });
    }
    busy_.clear(std::memory_order_release);
    return true;
  }

 private:
  /// What is left of the indices of one thread, on a line of the caches of its own.
  struct alignas(64) Share {
    std::atomic<std::size_t> next = 0;
    std::size_t end = 0;
  };

  void drain(std::size_t slot) noexcept {
    for (std::size_t k = 0; k < shares_.size(); ++k) {
      Share& share = shares_[(slot + k) % shares_.size()];
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const std::size_t i = share.next.fetch_add(1, std::memory_order_relaxed);
        if (i < share.end) task_(context_, slot, i);
      }
    }
  }

  void work(std::size_t slot) noexcept {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      lock.unlock();
      look_out_for([&] { return generation_.load(std::memory_order_relaxed) != seen; });
      lock.lock();
      wake_.wait(lock, [&] { return stop_ || (open_ && generation_ != seen); });
      if (stop_) return;
      seen = generation_;
      ++active_;
      lock.unlock();
      drain(slot);
      lock.lock();
      if (--active_ == 0) idle_.notify_one();
    }
  }

  const pid_t process_;
  std::atomic_flag busy_;
  std::mutex mutex_;  // guards everything below except workers_
  std::condition_variable wake_, idle_;
  std::vector<Share> shares_;  // one a thread, the calling one first
  const void* context_ = nullptr;
  Task task_ = nullptr;
  std::atomic<std::uint64_t> generation_ = 0;  // read without the mutex while looking out
  std::atomic<unsigned> active_ = 0;           // likewise
  bool open_ = false;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

ThreadPool::ThreadPool(unsigned threads) noexcept
    : threads_(threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency())) {}

ThreadPool::~ThreadPool() {
  // After a fork the threads belong to the parent: nothing to join, and their locks may be held for ever.
  const Team* team = team_.load();
  if (team != nullptr && team->is_ours()) delete team;
}

ThreadPool::Team& ThreadPool::team() {
  Team* current = team_.load(std::memory_order_acquire);
  if (current != nullptr && current->is_ours()) return *current;
  Team* fresh = new Team(threads_ - 1);
  if (team_.compare_exchange_strong(current, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;  // another thread of this process was first
  return *current;
}

void ThreadPool::run(std::size_t count, const void* context, Task task) noexcept {
  if (team().try_run(count, context, task)) return;
  for (std::size_t i = 0; i < count; ++i) task(context, 0, i);
}

}  // namespace lw
