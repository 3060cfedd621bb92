// Host memory in large pages: one heap of mapped stretches, from which blocks are cut and into which they melt back.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/device.hpp"

namespace lw {

/// Blocks aligned to 64 bytes. What is freed stays, up to a limit, because the page faults of getting it back cost more
/// than the arithmetic on it; above the limit, whole pages of 2 MiB go back to the system, those first that were used
/// longest ago. While runs are under way, what they used at their peak stays whatever the limit is. No call waits for
/// long: where another thread keeps the lock, the C library serves and freed blocks queue up, so that a child forked
/// meanwhile does not wait for ever. Safe to share between threads.
///
/// Under AddressSanitizer every block comes from the C library, so that a use after its release is found.
class HostMemory {
 public:
  HostMemory() = default;
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// Uninitialised, or nullptr where the system has no more.
  void* allocate(std::size_t bytes) noexcept;
  void release(void* data) noexcept;

  /// Moves the limit of what stays unused; a lower one gives back at once what exceeds it.
  void keep(std::ptrdiff_t more_bytes) noexcept;
  void begin_run() noexcept { ++num_runs_; }
  void end_run() noexcept;
  MemoryUse use() const noexcept;
  /// A moment, and the bytes of unused pages of which a block was got or released since then.
  std::uint64_t now() noexcept { return ++clock_; }
  std::size_t idle_since(std::uint64_t moment) noexcept;

 private:
  struct Header;  // before each block
  struct UnusedPage;
  using Free = std::map<std::byte*, std::size_t>;

  std::unique_lock<std::mutex> lock_soon() noexcept;
  void* from_c_library(std::size_t bytes) noexcept;
  void free_to_c_library(Header* block) noexcept;
  void* cut(std::size_t bytes);
  bool grow(std::size_t bytes);
  bool grow_by(std::size_t bytes);
  void put_back(std::byte* place, std::size_t bytes);
  void take_back(Header* block);
  void take_back_pending();
  /// Gives back the idle memory above the limit, as if `more` further bytes were in use.
  void trim(std::size_t more = 0);
  void give_back(std::byte* place, std::size_t bytes);
  std::vector<UnusedPage> unused_pages() const;
  void note_use(std::byte* place, std::size_t bytes);
  void add_free(std::byte* place, std::size_t bytes);
  void erase_free(Free::iterator place);

  std::atomic<pid_t> last_process_ = 0;                         // that took the lock
  std::mutex mutex_;                                            // guards what follows, down to the atomics
  Free free_;                                                   // by address, no two of them adjacent
  std::set<std::pair<std::size_t, std::byte*>> by_size_;        // the same
  std::unordered_map<std::uintptr_t, std::uint64_t> last_use_;  // of pages, by number
  std::byte* lowest_ = nullptr;                                 // of the stretch mapped last
  std::atomic<Header*> pending_ = nullptr;                      // released while the lock was taken
  std::atomic<std::size_t> most_idle_ = std::size_t{256} << 20;
  std::atomic<std::size_t> idle_ = 0, held_ = 0;
  std::atomic<std::size_t> num_runs_ = 0, peak_ = 0;  // most in use since runs are under way
  std::atomic<std::uint64_t> fresh_ = 0, returned_ = 0, clock_ = 0;
};

}  // namespace lw
