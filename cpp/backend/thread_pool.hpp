// Worker threads for the batch loops of a host backend.
#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

namespace lw {

/// Runs loop bodies on the calling thread and on workers that start with the first loop large enough to need
/// them. Each index runs exactly once, on any thread: bodies must not depend on which. Each thread begins with a share
/// of its own, the same stretch of the indices in every loop, so that it finds in its caches what it made before; then
/// it helps the others. A loop started while another runs (nested, or by a second caller) runs on its calling thread
/// alone. A child process made by fork gets workers of its own at its first loop.
class ThreadPool {
 public:
  /// threads counts the calling thread; 0 = one per core.
  explicit ThreadPool(unsigned threads) noexcept;
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const noexcept { return threads_; }

  /// body(i), or body(slot, i), for every i in [0, count), each about `cycles` long; returns when all are done. Calls
  /// at the same time have different slots below threads(). Bodies must not throw.
  template <class Body>
  void parallel_for(std::size_t count, std::size_t cycles, Body&& body) noexcept {
    constexpr std::size_t kWorthWaking = 100'000;  // about ten times the cost of waking a worker
    if (threads_ == 1 || count <= 1 || count * cycles < kWorthWaking) {
      for (std::size_t i = 0; i < count; ++i) call(body, 0, i);
      return;
    }
    run(count, &body, [](const void* context, std::size_t slot, std::size_t i) noexcept {
      call(*static_cast<const std::remove_reference_t<Body>*>(context), slot, i);
    });
  }

 private:
  using Task = void (*)(const void* context, std::size_t slot, std::size_t i) noexcept;
  class Team;

  template <class Body>
  static void call(const Body& body, std::size_t slot, std::size_t i) noexcept {
    if constexpr (std::is_invocable_v<const Body&, std::size_t, std::size_t>) {
      body(slot, i);
    } else {
      body(i);
    }
  }
  void run(std::size_t count, const void* context, Task task) noexcept;
  Team& team();

  unsigned threads_;
  std::atomic<Team*> team_ = nullptr;
};

}  // namespace lw
