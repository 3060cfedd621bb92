// Host data on its way to kernels: copied at once to pinned memory, and from there to the device in the order of a
// queue.
#pragma once

#include <cstddef>
#include <cstring>
#include <list>
#include <mutex>
#include <span>

#include "backend/gpu/card.hpp"
#include "backend/gpu/phase.hpp"

namespace lw::gpu {

class GpuQueue;

/// Blocks of pinned memory, each with as much of the device: filled one after the other, and used again when the
/// kernels that were called with what lies there are done. Safe to share between threads.
class StagingBlocks {
 public:
  StagingBlocks(Card& card, int queue) noexcept : card_(card), queue_(queue) {}
  ~StagingBlocks();
  StagingBlocks(const StagingBlocks&) = delete;
  StagingBlocks& operator=(const StagingBlocks&) = delete;

  struct Block {
    std::byte* pinned = nullptr;
    std::byte* memory = nullptr;
    std::size_t bytes = 0, filled = 0;
    std::size_t holders = 0;  // of places in it
    LwEvent* done = nullptr;  // after the last kernel that was called with it
    bool is_recorded = false;
  };
  struct Place {
    Block* block = nullptr;       // nullptr: in a recording
    std::byte* pinned = nullptr;  // nullptr: the device failed
    std::byte* memory = nullptr;
  };

  /// Makes the first block, with which small things can be staged whatever comes. Returns false if there is no memory.
  bool reserve() noexcept;
  /// Gets room for `bytes` until it is released, after the kernels that read it were called. Where there is no more
  /// memory it waits for a block; if none is large enough, or all are held, the device fails.
  Place hold(std::size_t bytes) noexcept;
  void release(Block* block) noexcept;

 private:
  Block* block_for(std::size_t bytes) noexcept;
  Block* free_block(std::size_t bytes, bool wait) noexcept;
  Block* make(std::size_t bytes) noexcept;
  bool is_free(Block& block, bool wait) noexcept;

  Card& card_;
  const int queue_;
  std::mutex mutex_;
  std::list<Block> blocks_;  // in the order of their last use
};

/// The staged arguments of one kernel entry. It ends after the kernels that read it were launched.
class Staging {
 public:
  explicit Staging(GpuQueue& queue) noexcept : queue_(queue) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// A copy of the values, which are read before the call returns. Its last word is filled up with zeros.
  template <class T>
  Global<const T> put(std::span<const T> values) noexcept {
    const StagingBlocks::Place place = hold(values.size_bytes());
    if (place.pinned == nullptr) return {};
    std::memcpy(place.pinned, values.data(), values.size_bytes());
    return sent<T>(place, values.size_bytes());
  }
  /// The same of make(0) .. make(count - 1), made in this order.
  template <class T, class Make>
  Global<const T> put(std::size_t count, const Make& make) noexcept {
    const StagingBlocks::Place place = hold(count * sizeof(T));
    if (place.pinned == nullptr) return {};
    for (std::size_t i = 0; i < count; ++i) {
      const T value = make(i);
      std::memcpy(place.pinned + i * sizeof(T), &value, sizeof(T));
    }
    return sent<T>(place, count * sizeof(T));
  }
  /// The same of one value, which kernels may write.
  template <class T>
  Global<T> put_variable(T value) noexcept {
    return Global<T>(const_cast<T*>(put(std::span<const T>(&value, 1)).address()));
  }
  /// Copies host memory, which is read before the call returns, to memory of the device.
  void upload_to(void* to, const void* from, std::size_t bytes) noexcept;
  /// The same of pieces, one after the other, after which pinned memory is wiped: the host waits for the queue.
  void upload_secrets_to(void* to, std::span<const std::span<const std::byte>> pieces) noexcept;
  /// Uninitialised memory.
  template <class T>
  Global<T> room(std::size_t count) noexcept {
    return Global<T>(reinterpret_cast<T*>(hold(count * sizeof(T)).memory));
  }

 private:
  /// Gets staging memory for `bytes`: at least a word, and whole words, the last of which is zero in pinned memory.
  StagingBlocks::Place hold(std::size_t bytes) noexcept;
  void upload(const StagingBlocks::Place& place, std::size_t bytes) noexcept;  // in whole words

  template <class T>
  Global<const T> sent(const StagingBlocks::Place& place, std::size_t bytes) noexcept {
    upload(place, bytes);
    return Global<const T>(reinterpret_cast<const T*>(place.memory));
  }

  GpuQueue& queue_;
  std::list<StagingBlocks::Block*> held_;
};

}  // namespace lw::gpu
