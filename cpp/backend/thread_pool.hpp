// Worker threads for the batch loops of a host backend.
#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

namespace lw {

/// Runs loop bodies on the calling thread and on workers that start with the first loop large enough to need
/// them. Each index runs exactly once, on any thread: bodies must not depend on which. A loop started while another
/// runs (nested, or by a second caller) runs on its calling thread alone. A child process made by fork gets workers of
/// its own at its first loop.
class ThreadPool {
 public:
  /// threads counts the calling thread; 0 = one per core.
  explicit ThreadPool(unsigned threads) noexcept;
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const noexcept { return threads_; }

  /// body(i) for every i in [0, count), each about `cycles` long; returns when all are done. Bodies must not throw.
  template <class Body>
  void parallel_for(std::size_t count, std::size_t cycles, Body&& body) noexcept {
    constexpr std::size_t kWorthWaking = 100'000;  // about ten times the cost of waking a worker
    if (threads_ == 1 || count <= 1 || count * cycles < kWorthWaking) {
      for (std::size_t i = 0; i < count; ++i) body(i);
      return;
    }
    run(count, &body, [](const void* context, std::size_t i) noexcept {
      (*static_cast<const std::remove_reference_t<Body>*>(context))(i);
    });
  }

 private:
  using Task = void (*)(const void* context, std::size_t i) noexcept;
  class Team;

  void run(std::size_t count, const void* context, Task task) noexcept;
  Team& team();

  unsigned threads_;
  std::atomic<Team*> team_ = nullptr;
};

}  // namespace lw
