// The device of a ring on a card: buffers with their accounts, and a queue for each number.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "backend/device.hpp"
#include "backend/gpu/card.hpp"
#include "backend/gpu/conversion_copies.hpp"
#include "backend/gpu/queue.hpp"
#include "backend/gpu/tables.hpp"

namespace lw::gpu {

class Arena;

class GpuDevice final : public Device {
 public:
  /// name: a literal. Throws lw::Error(kOutOfMemory) or kDevice.
  GpuDevice(std::string_view name, std::shared_ptr<Card> card, std::uint32_t ring_degree,
            const std::vector<std::uint64_t>& primes, Arithmetic arithmetic);
  ~GpuDevice() override;

  std::string_view name() const noexcept override { return name_; }
  const Card& card() const noexcept { return *card_; }
  Buffer allocate(std::size_t bytes) override;
  Queue& queue(int number) override;
  void upload(Queue& queue, const StridedCopy& copy) override;
  void upload_secret(Queue& queue, void* to, std::span<const std::span<const std::byte>> pieces) override;
  void download(Queue& queue, const StridedCopy& copy) override;
  void synchronise(Queue& queue) override;
  void check(Queue& queue) override;
  bool has_failed() const noexcept override { return card_->has_failed(); }
  bool is_behind(Queue& queue) noexcept override { return card_->is_behind(gpu_queue(queue).number()); }
  bool is_profiled() const noexcept override { return card_->is_profiled(); }
  std::unique_ptr<QueueClock> clock(Queue& queue) override;
  bool can_record() const noexcept override;
  std::unique_ptr<Recording> record(std::size_t most_bytes) override;
  void add_spare(std::weak_ptr<Spare> spare) override { card_->add_spare(std::move(spare)); }

  /// The choices for all rings of the device; they hold for calls from now on, on any queue.
  RingChoices& choices() noexcept { return choices_; }
  const RingChoices& choices() const noexcept { return choices_; }

  std::size_t live_bytes() const noexcept override { return live_; }
  std::size_t peak_bytes() const noexcept override { return peak_; }
  void reset_peak() noexcept override { peak_.store(live_); }
  MemoryUse memory() const noexcept override;
  void trim() noexcept override;
  /// Does nothing: all freed memory stays.
  void keep(std::ptrdiff_t) noexcept override {}
  void begin_run() noexcept override {}
  void end_run() noexcept override {}
  std::uint64_t now() noexcept override { return 0; }
  std::size_t idle_since(std::uint64_t) noexcept override { return 0; }

 private:
  GpuDevice(std::string_view name, std::shared_ptr<Card> card, const HostTables& host);

  /// Gets `bytes` from the arena of queue `number`, which then owns them, or from the card.
  void* get(std::size_t bytes, int number, Buffer::Uses& uses) noexcept;
  void* get_without(Arena& arena, std::size_t bytes, int number) noexcept;
  void order_read(Buffer::Uses& uses) noexcept override;
  void order_write(Buffer::Uses& uses) noexcept override;
  void release(void* data, std::size_t bytes, const Buffer::Uses* uses) noexcept override;

  const std::string_view name_;
  const std::shared_ptr<Card> card_;
  void* constants_ = nullptr;  // the memory of tables_
  std::size_t constant_bytes_ = 0;
  Tables tables_{};
  const HostRing host_;
  ConversionCopies conversions_;
  RingChoices choices_;
  std::mutex mutex_;
  std::array<std::atomic<GpuQueue*>, kQueues> queues_{};
  std::atomic<std::size_t> live_ = 0, peak_ = 0;
};

}  // namespace lw::gpu
