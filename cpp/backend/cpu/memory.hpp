// Host memory in large pages: arenas aligned to 2 MiB, from which blocks are cut and into which they melt back.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace lw::cpu {

/// Blocks aligned to 64 bytes. Freed memory is kept, up to a limit, because the page faults of getting it back cost
/// more than the arithmetic on it. No call waits for another: where a thread holds the lock, the C library serves and
/// freed blocks queue up, so that a child forked meanwhile does not wait for ever. Safe to share between threads.
class Arenas {
 public:
  Arenas() = default;
  ~Arenas();
  Arenas(const Arenas&) = delete;
  Arenas& operator=(const Arenas&) = delete;

  /// Uninitialised, or nullptr where the system has no more.
  void* allocate(std::size_t bytes) noexcept;
  void release(void* data) noexcept;

 private:
  struct Header;  // before each block
  using Free = std::map<std::byte*, std::size_t>;

  void* cut(std::size_t bytes);
  bool add_arena(std::size_t bytes);
  void put_back(Header* block);
  void put_back_all(Header* list);
  void add_free(std::byte* place, std::size_t bytes);
  void erase_free(Free::iterator place);
  void give_up_arena(std::byte* base);

  std::mutex mutex_;                                      // guards all below but pending_
  std::map<std::byte*, std::size_t> arenas_;              // by address, with their bytes
  Free free_;                                             // by address, no two of them adjacent within an arena
  std::set<std::pair<std::size_t, std::byte*>> by_size_;  // the same
  std::size_t empty_bytes_ = 0;                           // of arenas that are free as a whole
  std::atomic<Header*> pending_ = nullptr;                // released while the lock was taken
};

}  // namespace lw::cpu
