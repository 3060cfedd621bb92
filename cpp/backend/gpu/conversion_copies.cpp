#include "backend/gpu/conversion_copies.hpp"

#include <span>
#include <vector>

#include "backend/gpu/device.hpp"
#include "backend/gpu/device_memory.hpp"
#include "backend/gpu/queue.hpp"

namespace lw::gpu {

ConversionCopies::~ConversionCopies() {
  for (const auto& [number, held] : held_) card_.memory().put_back(held.memory, held.bytes, kAllQueues);
}

DeviceConversion ConversionCopies::copy(const BaseConversionTable& table, GpuQueue& queue, Staging& staging) noexcept {
  const auto view = [&](const void* words) {
    return DeviceConversion{static_cast<const Word*>(words), static_cast<std::uint32_t>(table.from.size()),
                            static_cast<std::uint32_t>(table.to.size())};
  };
  const std::lock_guard lock(mutex_);
  if (const auto found = held_.find(table.number); found != held_.end()) {
    card_.order(queue.number(), found->second.writer);
    return view(found->second.memory);
  }
  std::vector<Word> words(convert_words(arithmetic_, table));
  write_conversion(arithmetic_, moduli_, table, words.data());
  const std::span<const Word> given(words);
  if (table.number == 0) return view(staging.put(given).address());
  // What stays is not part of a recording, which would copy it again and again.
  GpuQueue& writer = card_.recording(queue.number()) == nullptr ? queue : gpu_queue(device_.queue(0));
  void* const memory = card_.memory().get(given.size_bytes(), writer.number());
  if (memory == nullptr) return view(staging.put(given).address());
  Staging own(writer);
  writer.copy(memory, own.put(given).address(), given.size_bytes());
  card_.order(queue.number(), writer.number());
  held_[table.number] = {memory, given.size_bytes(), writer.number()};
  return view(memory);
}

}  // namespace lw::gpu
