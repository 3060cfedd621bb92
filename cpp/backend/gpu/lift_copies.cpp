#include "backend/gpu/lift_copies.hpp"

#include <span>
#include <vector>

#include "backend/gpu/device_memory.hpp"
#include "backend/gpu/queue.hpp"

namespace lw::gpu {

LiftCopies::~LiftCopies() {
  for (const auto& [number, held] : held_) card_.memory().put_back(held.memory, held.bytes, kAllQueues);
}

DeviceLift LiftCopies::copy(const LiftTable& table, GpuQueue& queue, Staging& staging) noexcept {
  const auto view = [&](const void* words) {
    return DeviceLift{static_cast<const Word*>(words), static_cast<std::uint32_t>(table.from.size()),
                      static_cast<std::uint32_t>(table.to.size())};
  };
  const std::lock_guard lock(mutex_);
  if (const auto found = held_.find(table.number); found != held_.end()) {
    card_.order(queue.number(), found->second.writer);
    return view(found->second.memory);
  }
  std::vector<Word> words(lift_words(arithmetic_, table));
  write_lift(arithmetic_, moduli_, table, words.data());
  const Word* const staged = staging.put(std::span<const Word>(words)).address();
  const std::size_t bytes = words.size() * sizeof(Word);
  void* const memory = table.number == 0 ? nullptr : card_.memory().get(bytes, queue.number());
  if (memory == nullptr) return view(staged);
  queue.copy(memory, staged, bytes);
  held_[table.number] = {memory, bytes, queue.number()};
  return view(memory);
}

}  // namespace lw::gpu
