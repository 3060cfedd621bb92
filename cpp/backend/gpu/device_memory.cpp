#include "backend/gpu/device_memory.hpp"

#include <algorithm>
#include <bit>

namespace lw::gpu {
namespace {

constexpr std::size_t kLeast = 512;  // bytes, and what all sizes are multiples of

}  // namespace

Arena::~Arena() {
  for (const auto& [memory, bytes] : pieces_) memory_.put_back(memory, bytes, queue_bit(queue_));
}

void* Arena::get(std::size_t bytes) noexcept {
  const std::size_t size = DeviceMemory::size_class(bytes);
  const std::lock_guard lock(mutex_);
  std::vector<void*>& idle = idle_[size];
  void* memory = nullptr;
  if (idle.empty()) {
    if (size > most_bytes_ - bytes_) return nullptr;
    memory = memory_.get(size, queue_);
    if (memory == nullptr) return nullptr;
    pieces_.emplace(memory, size);
    bytes_ += size;
  } else {
    memory = idle.back();
    idle.pop_back();
  }
  // Also of what is new: a replay comes here again after the piece was somebody else's.
  memory_.mark(memory, size, queue_, true);
  return memory;
}

void Arena::put_back(void* memory, std::size_t bytes, std::uint64_t queues) noexcept {
  const std::size_t size = DeviceMemory::size_class(bytes);
  const std::lock_guard lock(mutex_);
  if (is_closed_) {
    pieces_.erase(memory);
    bytes_ -= size;
    memory_.put_back(memory, size, queues | queue_bit(queue_));
    return;
  }
  memory_.mark(memory, size, queue_, false);
  idle_[size].push_back(memory);
}

void Arena::close() noexcept {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  for (const auto& [size, idle] : idle_) {
    for (void* const memory : idle) {
      pieces_.erase(memory);
      bytes_ -= size;
      memory_.put_back(memory, size, queue_bit(queue_));
    }
  }
  idle_.clear();
}

bool Arena::has_room(std::size_t bytes) const noexcept {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return false;
  const auto idle = idle_.find(DeviceMemory::size_class(bytes));
  return (idle != idle_.end() && !idle->second.empty()) || DeviceMemory::size_class(bytes) <= most_bytes_ - bytes_;
}

bool Arena::is_closed() const noexcept {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

std::size_t Arena::bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void DeviceMemory::set_arena(int queue, std::shared_ptr<Arena> arena) {
  if (card_.is_forked()) return;
  std::shared_ptr<Arena> before;  // ends without the lock
  const std::lock_guard lock(mutex_);
  before = std::exchange(arenas_[queue], std::move(arena));
}

std::shared_ptr<Arena> DeviceMemory::arena_of(int queue) const {
  const std::lock_guard lock(mutex_);
  const auto found = arenas_.find(queue);
  return found == arenas_.end() ? nullptr : found->second;
}

void DeviceMemory::mark(void* memory, std::size_t bytes, int queue, bool in_use) noexcept {
  if (const auto tell = card_.driver().mark) card_.call(queue, "memory", tell, memory, bytes, in_use ? 1 : 0);
}

std::size_t DeviceMemory::size_class(std::size_t bytes) noexcept {
  const std::size_t step = std::max(kLeast, std::bit_floor(bytes) / 8);
  return std::max(kLeast, (bytes + step - 1) / step * step);
}

void* DeviceMemory::get(std::size_t bytes, int queue) noexcept {
  const std::size_t size = size_class(bytes);
  const std::lock_guard lock(mutex_);
  ++use_.requests;
  if (void* const kept = take(size, queue)) return kept;
  const std::uint64_t most = card_.options().memory_bytes;
  if (size > most) return nullptr;
  if (use_.held > most - size) trim_to(0);
  if (use_.held > most - size) return nullptr;
  void* memory = nullptr;
  const auto ask = [&] { return card_.driver().memory_get(card_.device(), size, &memory); };
  LwStatus status = ask();
  if (status == LW_OUT_OF_MEMORY && use_.idle > 0) {
    trim_to(0);
    status = ask();
  }
  if (status != LW_OK) {
    if (status != LW_OUT_OF_MEMORY) card_.note(status, "memory");
    return nullptr;
  }
  use_.held += size;
  use_.fresh += size;
  return memory;
}

void* DeviceMemory::take(std::size_t size, int queue) noexcept {
  const auto found = idle_.find(size);
  if (found == idle_.end() || found->second.empty()) return nullptr;
  std::vector<Piece>& pieces = found->second;
  // One that this queue used last needs no waiting.
  auto piece =
      std::find_if(pieces.rbegin(), pieces.rend(), [&](const Piece& p) { return p.queues == queue_bit(queue); });
  if (piece == pieces.rend()) piece = pieces.rbegin();
  const Piece taken = *piece;
  *piece = pieces.back();
  pieces.pop_back();
  for (std::uint64_t others = taken.queues & ~queue_bit(queue); others != 0; others &= others - 1) {
    card_.order(queue, std::countr_zero(others));
  }
  mark(taken.memory, size, queue, true);
  use_.idle -= size;
  ++use_.reused;
  return taken.memory;
}

void DeviceMemory::put_back(void* memory, std::size_t bytes, std::uint64_t queues) noexcept {
  if (card_.is_forked()) return;
  const std::size_t size = size_class(bytes);
  const std::lock_guard lock(mutex_);
  if (std::has_single_bit(queues)) mark(memory, size, std::countr_zero(queues), false);
  idle_[size].push_back({memory, queues});
  use_.idle += size;
  // A card that failed serves nobody any more, though somebody may hold what was lost with it.
  if (!card_.options().keeps_memory || card_.has_failed()) trim_to(0);
}

void DeviceMemory::trim() noexcept {
  if (card_.is_forked()) return;
  const std::lock_guard lock(mutex_);
  trim_to(0);
}

/// The largest first: they are few, and the driver waits for all queues at each.
void DeviceMemory::trim_to(std::size_t idle) noexcept {
  for (auto pieces = idle_.rbegin(); pieces != idle_.rend() && use_.idle > idle; ++pieces) {
    while (!pieces->second.empty() && use_.idle > idle) {
      card_.note(card_.driver().memory_free(card_.device(), pieces->second.back().memory), "memory");
      pieces->second.pop_back();
      use_.idle -= pieces->first;
      use_.held -= pieces->first;
      use_.returned += pieces->first;
    }
  }
}

DeviceMemory::Use DeviceMemory::use() const noexcept {
  const std::lock_guard lock(mutex_);
  return use_;
}

}  // namespace lw::gpu
