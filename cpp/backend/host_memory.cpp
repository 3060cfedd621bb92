#include "backend/host_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>
#include <thread>

namespace lw {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPage = std::size_t{2} << 20;
constexpr std::size_t kGrowth = std::size_t{32} << 20;  // the least that is mapped at a time
constexpr int kLockTries = 512;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPools = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kPools = false;
#else
constexpr bool kPools = true;
#endif
#else
constexpr bool kPools = true;
#endif

constexpr std::size_t rounded(std::size_t bytes, std::size_t unit) noexcept { return (bytes + unit - 1) / unit * unit; }

/// The whole pages in a stretch: none if the second is not above the first.
std::pair<std::byte*, std::byte*> whole_pages(std::byte* place, std::size_t bytes) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  const std::size_t before = rounded(address, kPage) - address, after = (address + bytes) % kPage;
  if (before + after >= bytes) return {place, place};
  return {place + before, place + bytes - after};
}

std::size_t page_bytes(std::byte* place, std::size_t bytes) noexcept {
  const auto [first, last] = whole_pages(place, bytes);
  return static_cast<std::size_t>(last - first);
}

std::byte* map_at(std::byte* hint, std::size_t bytes) noexcept {
  void* mapped = mmap(hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

/// `bytes`, a multiple of kPage, aligned to kPage: right below `above` if there is room; nullptr where there is no
/// memory.
std::byte* map_pages(std::size_t bytes, std::byte* above) noexcept {
  const auto ceiling = reinterpret_cast<std::uintptr_t>(above);
  std::byte* start = nullptr;
  if (ceiling > bytes) {
    std::byte* wanted = above - bytes;
    start = map_at(wanted, bytes);
    if (start != nullptr && start != wanted) {
      munmap(start, bytes);
      start = nullptr;
    }
  }
  if (start == nullptr) {
    std::byte* mapped = map_at(nullptr, bytes + kPage);
    if (mapped == nullptr) return nullptr;
    const std::size_t before =
        rounded(reinterpret_cast<std::uintptr_t>(mapped), kPage) - reinterpret_cast<std::uintptr_t>(mapped);
    start = mapped + before;
    if (before != 0) munmap(mapped, before);
    if (before != kPage) munmap(start + bytes, kPage - before);
  }
#ifdef MADV_HUGEPAGE
  madvise(start, bytes, MADV_HUGEPAGE);  // a wish: without it everything works, more slowly
#endif
  return start;
}

}  // namespace

struct alignas(kAlignment) HostMemory::Header {
  std::size_t bytes;  // with this header
  bool is_of_c_library;
  Header* next;  // in pending_
};

struct HostMemory::UnusedPage {
  std::uint64_t last_use;
  std::byte* place;
};

HostMemory::~HostMemory() {
  const std::unique_lock lock = lock_soon();
  if (!lock) return;  // a forked child whose parent's thread was changing the lists
  take_back_pending();
  for (const auto& [place, bytes] : free_) munmap(place, bytes);  // all that was mapped, for no block is left
}

void* HostMemory::allocate(std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t size = rounded(bytes, kAlignment) + sizeof(Header);
  if (!kPools) return from_c_library(size);
  const std::unique_lock lock = lock_soon();
  if (!lock) return from_c_library(size);
  try {
    take_back_pending();
    if (void* data = cut(size)) return data;
    if (grow(size)) return cut(size);
  } catch (const std::bad_alloc&) {  // no room for the lists
  }
  return nullptr;
}

void HostMemory::release(void* data) noexcept {
  Header* block = static_cast<Header*>(data) - 1;
  if (block->is_of_c_library) {
    free_to_c_library(block);
    return;
  }
  const std::unique_lock lock = lock_soon();
  if (lock) {
    try {
      take_back(block);
      trim();
    } catch (const std::bad_alloc&) {  // no room for the lists: what they lack is lost until the end of the process
    }
    return;
  }
  block->next = pending_.load(std::memory_order_relaxed);
  while (!pending_.compare_exchange_weak(block->next, block, std::memory_order_release)) {
  }
}

void HostMemory::keep(std::ptrdiff_t more_bytes) noexcept {
  most_idle_ += static_cast<std::size_t>(more_bytes);
  const std::unique_lock lock = lock_soon();  // without it, whoever releases next gives back what is too much
  if (!lock) return;
  try {
    take_back_pending();
    trim();
  } catch (const std::bad_alloc&) {
  }
}

void HostMemory::end_run() noexcept {
  if (--num_runs_ == 0) peak_ = 0;
  keep(0);
}

MemoryUse HostMemory::use() const noexcept { return {held_, idle_, fresh_, returned_}; }

std::unique_lock<std::mutex> HostMemory::lock_soon() noexcept {
  const pid_t process = getpid();
  std::unique_lock lock(mutex_, std::try_to_lock);
  // A thread of the process that this one was forked from, if it held the lock then, holds it for ever.
  for (int tries = 0; !lock && last_process_ == process && tries < kLockTries; ++tries) {
    std::this_thread::yield();
    lock.try_lock();
  }
  if (lock) last_process_ = process;
  return lock;
}

void* HostMemory::from_c_library(std::size_t bytes) noexcept {
  void* block = std::aligned_alloc(kAlignment, bytes);
  if (block == nullptr) return nullptr;
  held_ += bytes;
  fresh_ += bytes;
  return new (block) Header{bytes, true, nullptr} + 1;
}

void HostMemory::free_to_c_library(Header* block) noexcept {
  held_ -= block->bytes;
  returned_ += block->bytes;
  std::free(block);
}

// Best fit, lowest address first: what was used last is likely to be used again.
void* HostMemory::cut(std::size_t bytes) {
  const auto found = by_size_.lower_bound({bytes, nullptr});
  if (found == by_size_.end()) return nullptr;
  const auto [size, place] = *found;
  erase_free(free_.find(place));
  if (size > bytes) add_free(place + bytes, size - bytes);
  note_use(place, bytes);
  if (num_runs_ > 0) peak_ = std::max<std::size_t>(peak_, held_ - idle_);
  return new (place) Header{bytes, false, nullptr} + 1;
}

bool HostMemory::grow(std::size_t bytes) {
  const std::size_t least = rounded(bytes, kPage);
  trim(least);  // idle memory is in pieces that are too small
  if (grow_by(std::max(least, kGrowth))) return true;
  for (const UnusedPage& page : unused_pages()) give_back(page.place, kPage);  // none has room, but all may be missing
  return grow_by(least);
}

bool HostMemory::grow_by(std::size_t bytes) {
  std::byte* place = map_pages(bytes, lowest_);
  if (place == nullptr) return false;
  lowest_ = place;
  held_ += bytes;
  fresh_ += bytes;
  put_back(place, bytes);
  return true;
}

void HostMemory::put_back(std::byte* place, std::size_t bytes) {
  const auto next = free_.lower_bound(place);
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == place) {
      place = previous->first;
      bytes += previous->second;
      erase_free(previous);
    }
  }
  if (next != free_.end() && place + bytes == next->first) {
    bytes += next->second;
    erase_free(next);
  }
  add_free(place, bytes);
}

void HostMemory::take_back_pending() {
  for (Header* block = pending_.exchange(nullptr); block != nullptr;) {
    Header* next = block->next;
    take_back(block);
    block = next;
  }
}

void HostMemory::take_back(Header* block) {
  std::byte* place = reinterpret_cast<std::byte*>(block);
  const std::size_t bytes = block->bytes;
  note_use(place, bytes);
  put_back(place, bytes);
}

void HostMemory::note_use(std::byte* place, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  for (std::uintptr_t page = address / kPage; page * kPage < address + bytes; ++page) last_use_[page] = clock_;
}

std::vector<HostMemory::UnusedPage> HostMemory::unused_pages() const {
  std::vector<UnusedPage> pages;
  for (const auto& [place, bytes] : free_) {
    const auto [first, last] = whole_pages(place, bytes);
    for (std::byte* page = first; page < last; page += kPage) {
      const auto known = last_use_.find(reinterpret_cast<std::uintptr_t>(page) / kPage);
      pages.push_back({known == last_use_.end() ? 0 : known->second, page});
    }
  }
  return pages;
}

std::size_t HostMemory::idle_since(std::uint64_t moment) noexcept {
  const std::unique_lock lock = lock_soon();
  if (!lock) return 0;
  try {
    take_back_pending();
    const std::vector<UnusedPage> pages = unused_pages();
    return kPage * static_cast<std::size_t>(std::count_if(
                       pages.begin(), pages.end(), [&](const UnusedPage& page) { return page.last_use >= moment; }));
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

/// Gives pages back until no more are unused than the limits say: those used longest ago, of them the highest.
void HostMemory::trim(std::size_t more) {
  const std::size_t used = held_ - idle_ + more, peak = peak_;
  const std::size_t most = std::max<std::size_t>(most_idle_, peak - std::min(peak, used));
  if (idle_ <= most) return;
  std::vector<UnusedPage> pages = unused_pages();
  const std::size_t count = rounded(idle_ - most, kPage) / kPage;
  const auto end = pages.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(pages.begin(), end - 1, pages.end(), [](const UnusedPage& a, const UnusedPage& b) {
    return a.last_use != b.last_use ? a.last_use < b.last_use : a.place > b.place;
  });
  std::sort(pages.begin(), end, [](const UnusedPage& a, const UnusedPage& b) { return a.place < b.place; });
  for (auto first = pages.begin(); first != end;) {
    auto last = first + 1;
    while (last != end && last->place == (last - 1)->place + kPage) ++last;
    give_back(first->place, static_cast<std::size_t>(last - first) * kPage);
    first = last;
  }
}

/// Unmaps pages that lie in unused stretches next to each other.
void HostMemory::give_back(std::byte* place, std::size_t bytes) {
  if (munmap(place, bytes) != 0) return;  // the system has no room for one more hole
  const auto stretch = --free_.upper_bound(place);
  const auto [start, size] = *stretch;
  erase_free(stretch);
  if (start != place) add_free(start, static_cast<std::size_t>(place - start));
  std::byte* end = place + bytes;
  if (start + size != end) add_free(end, static_cast<std::size_t>(start + size - end));
  if (place == lowest_) lowest_ = end;
  held_ -= bytes;
  returned_ += bytes;
  for (std::byte* page = place; page < end; page += kPage) {
    last_use_.erase(reinterpret_cast<std::uintptr_t>(page) / kPage);
  }
}

void HostMemory::add_free(std::byte* place, std::size_t bytes) {
  free_.emplace(place, bytes);
  by_size_.emplace(bytes, place);
  idle_ += page_bytes(place, bytes);
}

void HostMemory::erase_free(Free::iterator place) {
  idle_ -= page_bytes(place->first, place->second);
  by_size_.erase({place->second, place->first});
  free_.erase(place);
}

}  // namespace lw
