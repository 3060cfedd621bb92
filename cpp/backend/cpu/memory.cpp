#include "backend/cpu/memory.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace lw::cpu {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPage = std::size_t{2} << 20;
constexpr std::size_t kArena = std::size_t{32} << 20;  // the least; larger for larger blocks
constexpr std::size_t kMostEmpty = std::size_t{256} << 20;

constexpr std::size_t rounded(std::size_t bytes, std::size_t unit) noexcept { return (bytes + unit - 1) / unit * unit; }

// `bytes`, a multiple of kPage, aligned to kPage; nullptr where there is no memory.
std::byte* map_pages(std::size_t bytes) noexcept {
  void* mapped = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  std::byte* start = static_cast<std::byte*>(mapped);
  const std::size_t before = (kPage - reinterpret_cast<std::uintptr_t>(start) % kPage) % kPage;
  if (before != 0) munmap(start, before);
  if (before != kPage) munmap(start + before + bytes, kPage - before);
#ifdef MADV_HUGEPAGE
  madvise(start + before, bytes, MADV_HUGEPAGE);  // a wish: without it everything works, more slowly
#endif
  return start + before;
}

}  // namespace

struct alignas(kAlignment) Arenas::Header {
  std::size_t bytes;  // with this header
  bool from_c_library;
  Header* next;  // in pending_
};

Arenas::~Arenas() {
  put_back_all(pending_.exchange(nullptr));
  for (const auto& [base, bytes] : arenas_) munmap(base, bytes);
}

void* Arenas::allocate(std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t size = rounded(bytes, kAlignment) + sizeof(Header);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) {
    put_back_all(pending_.exchange(nullptr));
    try {
      if (void* data = cut(size)) return data;
      if (add_arena(size)) return cut(size);
    } catch (const std::bad_alloc&) {  // no room for the lists
    }
    return nullptr;
  }
  void* block = std::aligned_alloc(kAlignment, size);
  return block == nullptr ? nullptr : new (block) Header{size, true, nullptr} + 1;
}

void Arenas::release(void* data) noexcept {
  Header* block = static_cast<Header*>(data) - 1;
  if (block->from_c_library) {
    std::free(block);
    return;
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) {
    put_back(block);
    return;
  }
  block->next = pending_.load(std::memory_order_relaxed);
  while (!pending_.compare_exchange_weak(block->next, block, std::memory_order_release)) {
  }
}

// Best fit, lowest address first: what was used last is likely to be used again.
void* Arenas::cut(std::size_t bytes) {
  const auto found = by_size_.lower_bound({bytes, nullptr});
  if (found == by_size_.end()) return nullptr;
  const auto [size, place] = *found;
  if (const auto arena = arenas_.find(place); arena != arenas_.end() && arena->second == size) empty_bytes_ -= size;
  erase_free(free_.find(place));
  if (size > bytes) add_free(place + bytes, size - bytes);
  return new (place) Header{bytes, false, nullptr} + 1;
}

bool Arenas::add_arena(std::size_t bytes) {
  const std::size_t size = bytes <= kArena ? kArena : rounded(bytes, kPage);
  std::byte* base = map_pages(size);
  if (base == nullptr) {  // empty arenas too small for this block may hold what is missing
    for (auto arena = arenas_.begin(); arena != arenas_.end();) {
      const auto [old_base, old_size] = *arena++;
      const auto place = free_.find(old_base);
      if (place != free_.end() && place->second == old_size) give_up_arena(old_base);
    }
    base = map_pages(size);
    if (base == nullptr) return false;
  }
  arenas_.emplace(base, size);
  add_free(base, size);
  empty_bytes_ += size;
  return true;
}

void Arenas::put_back(Header* block) {
  std::byte* place = reinterpret_cast<std::byte*>(block);
  std::size_t bytes = block->bytes;
  const auto arena = --arenas_.upper_bound(place);
  const auto next = free_.lower_bound(place);
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == place && previous->first >= arena->first) {
      place = previous->first;
      bytes += previous->second;
      erase_free(previous);
    }
  }
  if (next != free_.end() && next->first == place + bytes && next->first < arena->first + arena->second) {
    bytes += next->second;
    erase_free(next);
  }
  add_free(place, bytes);
  if (bytes == arena->second) {
    empty_bytes_ += bytes;
    if (empty_bytes_ > kMostEmpty) give_up_arena(place);
  }
}

void Arenas::put_back_all(Header* list) {
  while (list != nullptr) {
    Header* next = list->next;
    put_back(list);
    list = next;
  }
}

void Arenas::add_free(std::byte* place, std::size_t bytes) {
  free_.emplace(place, bytes);
  by_size_.emplace(bytes, place);
}

void Arenas::erase_free(Free::iterator place) {
  by_size_.erase({place->second, place->first});
  free_.erase(place);
}

void Arenas::give_up_arena(std::byte* base) {
  const auto place = free_.find(base);
  const std::size_t bytes = place->second;
  erase_free(place);
  arenas_.erase(base);
  empty_bytes_ -= bytes;
  munmap(base, bytes);
}

}  // namespace lw::cpu
