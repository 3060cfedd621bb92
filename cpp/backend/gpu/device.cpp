#include "backend/gpu/device.hpp"

#include <bit>
#include <string>

#include "backend/embedding.hpp"
#include "backend/gpu/device_memory.hpp"
#include "backend/gpu/gpu_queue_clock.hpp"
#include "backend/gpu/recording.hpp"
#include "math/error.hpp"

namespace lw::gpu {
GpuDevice::GpuDevice(std::string_view name, std::shared_ptr<Card> card, std::uint32_t ring_degree,
                     const std::vector<std::uint64_t>& primes, Arithmetic arithmetic)
    : GpuDevice(name, std::move(card), HostTables(arithmetic, ring_degree, primes)) {}

GpuDevice::GpuDevice(std::string_view name, std::shared_ptr<Card> card, const HostTables& host)
    : name_(name),
      card_(std::move(card)),
      host_{{host.moduli().begin(), host.moduli().end()}, embedding_roots(host.degree() / 2)},
      conversions_(*this, *card_, host.arithmetic(), host_.moduli) {
  choices_.cache_bytes = std::min<std::size_t>(card_->info().l2_bytes, kMostCache);
  constant_bytes_ = host.words().size() * sizeof(Word);
  constants_ = card_->memory().get(constant_bytes_, 0);
  if (constants_ != nullptr) {
    tables_ = host.at(constants_);
    card_->timed_call(0, "copy of tables to the device", constant_bytes_, card_->driver().upload, constants_,
                      static_cast<const void*>(host.words().data()), constant_bytes_);
    card_->wait(0);
  }
  if (constants_ != nullptr && !card_->has_failed()) return;
  if (constants_ != nullptr) card_->memory().put_back(constants_, constant_bytes_, kAllQueues);
  card_->check();
  throw Error(ErrorKind::kOutOfMemory, std::string(name) + ": no memory for the " + std::to_string(constant_bytes_) +
                                           " bytes of constants of the ring; use a device with more memory");
}

GpuDevice::~GpuDevice() {
  for (std::atomic<GpuQueue*>& queue : queues_) delete queue.load();
  card_->memory().put_back(constants_, constant_bytes_, kAllQueues);
}

Buffer GpuDevice::allocate(std::size_t bytes) {
  card_->check();
  const int number = running_queue();
  auto uses = std::make_unique<Buffer::Uses>();
  uses->all = queue_bit(number);
  uses->writer = number;
  void* data = get(bytes, number, *uses);
  if (data == nullptr && !card_->has_failed()) {
    card_->drop_spares();
    data = get(bytes, number, *uses);
  }
  if (data == nullptr && !card_->has_failed()) {
    const std::shared_ptr<Arena> arena = card_->memory().arena_of(number);
    if (arena != nullptr) data = get_without(*arena, bytes, number);
  }
  if (data == nullptr) {
    card_->check();
    throw Error(ErrorKind::kOutOfMemory, std::string(name_) + ": no memory for " + std::to_string(bytes) + " bytes, " +
                                             std::to_string(live_bytes()) + " in use; lower the memory budget");
  }
  const std::size_t live = live_.fetch_add(bytes) + bytes;
  std::size_t peak = peak_.load();
  while (peak < live && !peak_.compare_exchange_weak(peak, live)) {
  }
  return Buffer(data, bytes, shared_from_this(), std::move(uses));
}

void* GpuDevice::get(std::size_t bytes, int number, Buffer::Uses& uses) noexcept {
  std::shared_ptr<Arena> arena = card_->memory().arena_of(number);
  if (arena == nullptr) return card_->memory().get(bytes, number);
  if (!arena->has_room(bytes)) return get_without(*arena, bytes, number);
  void* const memory = arena->get(bytes);
  if (memory != nullptr) uses.owner = std::move(arena);
  return memory;
}

/// The run goes on, but is not recorded.
void* GpuDevice::get_without(Arena& arena, std::size_t bytes, int number) noexcept {
  card_->give_up_recording(number);
  arena.close();
  return card_->memory().get(bytes, number);
}

std::unique_ptr<QueueClock> GpuDevice::clock(Queue& queue) {
  return std::make_unique<GpuQueueClock>(card_, gpu_queue(queue).number());
}

bool GpuDevice::can_record() const noexcept {
  const DeviceOptions& options = card_->options();
  return options.replays && options.keeps_memory && !options.is_synchronous && !card_->has_failed();
}

std::unique_ptr<Recording> GpuDevice::record(std::size_t most_bytes) {
  return can_record() ? GpuRecording::make(card_, most_bytes) : nullptr;
}

Queue& GpuDevice::queue(int number) {
  std::atomic<GpuQueue*>& made = queues_[static_cast<std::size_t>(number)];
  if (GpuQueue* const queue = made.load(std::memory_order_acquire)) return *queue;
  const std::lock_guard lock(mutex_);
  if (made.load() == nullptr) {
    auto queue = std::make_unique<GpuQueue>(*card_, number, tables_, host_, conversions_, choices_);
    if (!queue->staging().reserve()) {
      throw Error(ErrorKind::kOutOfMemory, std::string(name_) + ": no memory for a queue, " +
                                               std::to_string(live_bytes()) + " bytes in use; lower the memory budget");
    }
    made.store(queue.release());
  }
  return *made.load();
}

void GpuDevice::upload(Queue& q, const StridedCopy& copy) {
  for (std::size_t i = 0; i < copy.limbs; ++i) {
    Staging staging(gpu_queue(q));  // of one limb at a time, so that its block can be used again
    staging.upload_to(static_cast<std::byte*>(copy.to) + i * copy.to_step,
                      static_cast<const std::byte*>(copy.from) + i * copy.from_step, copy.bytes);
  }
  card_->check();
}

void GpuDevice::upload_secret(Queue& q, void* to, std::span<const std::span<const std::byte>> pieces) {
  Staging staging(gpu_queue(q));
  staging.upload_secrets_to(to, pieces);
  card_->check();
}

void GpuDevice::download(Queue& q, const StridedCopy& copy) {
  GpuQueue& queue = gpu_queue(q);
  for (std::size_t i = 0; i < copy.limbs; ++i) {
    queue.download_later(static_cast<std::byte*>(copy.to) + i * copy.to_step,
                         static_cast<const std::byte*>(copy.from) + i * copy.from_step, copy.bytes);
  }
  synchronise(q);
}

void GpuDevice::synchronise(Queue& queue) {
  card_->give_up_recording(gpu_queue(queue).number());
  card_->wait(gpu_queue(queue).number());
  card_->check();
}

void GpuDevice::check(Queue&) { card_->check(); }

MemoryUse GpuDevice::memory() const noexcept {
  const DeviceMemory::Use use = card_->memory().use();
  return {use.held, use.idle, use.fresh, use.returned};
}

void GpuDevice::trim() noexcept {
  card_->drop_spares();
  card_->memory().trim();
}

void GpuDevice::order_read(Buffer::Uses& uses) noexcept {
  const int reader = running_queue();
  if ((uses.all.load() & queue_bit(reader)) != 0) return;
  card_->order(reader, uses.writer.load());
  uses.all.fetch_or(queue_bit(reader));  // not before: another thread on this queue would rely on it
}

void GpuDevice::order_write(Buffer::Uses& uses) noexcept {
  const int writer = running_queue();
  for (std::uint64_t others = uses.all.exchange(queue_bit(writer)) & ~queue_bit(writer); others != 0;
       others &= others - 1) {
    card_->order(writer, std::countr_zero(others));
  }
  uses.writer.store(writer);
}

void GpuDevice::release(void* data, std::size_t bytes, const Buffer::Uses* uses) noexcept {
  live_.fetch_sub(bytes);
  if (card_->is_forked()) return;
  if (uses->owner != nullptr) {
    std::static_pointer_cast<Arena>(uses->owner)->put_back(data, bytes, uses->all.load());
    return;
  }
  card_->memory().put_back(data, bytes, uses->all.load());
}

}  // namespace lw::gpu
