// The memory of a card: pieces of the driver's, kept by size when freed, and got again in the order of queues.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/gpu/card.hpp"

namespace lw::gpu {

class DeviceMemory;

/// Pieces of a card's memory that serve one queue again and again, and come back to the card with the last who knows of
/// them, or when it is closed. Safe to share between threads.
class Arena {
 public:
  /// most_bytes: that it may hold. Nothing may be under way on the queue when it ends.
  Arena(DeviceMemory& memory, int queue, std::size_t most_bytes) noexcept
      : memory_(memory), queue_(queue), most_bytes_(most_bytes) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Gets at least `bytes`; nullptr where the card has no more, or the arena may hold no more.
  void* get(std::size_t bytes) noexcept;
  /// queues: bit n for each on which something may still use it.
  void put_back(void* memory, std::size_t bytes, std::uint64_t queues) noexcept;
  /// Ends keeping: memory that is not in use goes back to the card now, and the rest when it is put back.
  void close() noexcept;
  bool is_closed() const noexcept;
  std::size_t bytes() const noexcept;
  /// Whether it may hold so much more.
  bool has_room(std::size_t bytes) const noexcept;

 private:
  DeviceMemory& memory_;
  const int queue_;
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::map<void*, std::size_t> pieces_;             // and their sizes
  std::map<std::size_t, std::vector<void*>> idle_;  // by size
  std::size_t bytes_ = 0;
  bool is_closed_ = false;
};

/// Sizes are rounded up to classes of an eighth of their power of two at most, so a piece serves all that is about as
/// large: the limbs of a ring are few sizes. What is held keeps to the limit of the card's options, and where these say
/// so nothing unused is kept. Safe to share between threads.
class DeviceMemory {
 public:
  explicit DeviceMemory(Card& card) noexcept : card_(card) {}
  ~DeviceMemory() { trim(); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Gets at least `bytes` for what is called next on a queue, after all that earlier owners called. nullptr where the
  /// device has no more, also after `trim`.
  void* get(std::size_t bytes, int queue) noexcept;
  /// queues: bit n for each on which something may still use it.
  void put_back(void* memory, std::size_t bytes, std::uint64_t queues) noexcept;
  /// Gives all unused pieces back to the driver.
  void trim() noexcept;

  struct Use {
    std::size_t held, idle;          // bytes got from the driver, and of them unused
    std::uint64_t fresh, returned;   // bytes got and given back in all
    std::uint64_t reused, requests;  // calls of `get`: served by a kept piece, and all
  };
  Use use() const noexcept;

  /// Has an arena serve a queue from now on; null: none does.
  void set_arena(int queue, std::shared_ptr<Arena> arena);
  std::shared_ptr<Arena> arena_of(int queue) const;
  /// Tells a driver that watches accesses; see LwDriver::mark.
  void mark(void* memory, std::size_t bytes, int queue, bool in_use) noexcept;

  /// The bytes that a request of `bytes` takes: its size class.
  static std::size_t size_class(std::size_t bytes) noexcept;

 private:
  struct Piece {
    void* memory;
    std::uint64_t queues;
  };

  void* take(std::size_t size, int queue) noexcept;
  void trim_to(std::size_t idle) noexcept;

  Card& card_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<Piece>> idle_;  // by size
  Use use_{};
  std::map<int, std::shared_ptr<Arena>> arenas_;
};

}  // namespace lw::gpu
