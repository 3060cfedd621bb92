// The device of a backend that computes in host memory, and at once: buffers with their accounts.
#pragma once

#include <atomic>
#include <cstddef>

#include "backend/device.hpp"
#include "backend/host_memory.hpp"

namespace lw {

/// The words from one limb to the next, for limbs of `degree` words: a cache line more, as limbs of power-of-two length
/// would share cache sets.
constexpr std::size_t host_limb_stride(std::size_t degree) noexcept { return degree + 8; }

class HostDevice : public Device {
 public:
  Buffer allocate(std::size_t bytes) override;
  void upload(Queue&, const StridedCopy& copy) override { copy_strided(copy); }
  void download(Queue&, const StridedCopy& copy) override { copy_strided(copy); }
  void synchronise(Queue&) override {}
  void check(Queue&) override {}
  bool has_failed() const noexcept override { return false; }

  std::size_t live_bytes() const noexcept override { return live_; }
  std::size_t peak_bytes() const noexcept override { return peak_; }
  void reset_peak() noexcept override { peak_.store(live_); }

  MemoryUse memory() const noexcept override { return memory_.use(); }
  void trim() noexcept override {}
  void keep(std::ptrdiff_t more_bytes) noexcept override { memory_.keep(more_bytes); }
  void begin_run() noexcept override { memory_.begin_run(); }
  void end_run() noexcept override { memory_.end_run(); }
  std::uint64_t now() noexcept override { return memory_.now(); }
  std::size_t idle_since(std::uint64_t moment) noexcept override { return memory_.idle_since(moment); }

 private:
  static void copy_strided(const StridedCopy& copy) noexcept;
  void order_read(Buffer::Uses&) noexcept override {}
  void order_write(Buffer::Uses&) noexcept override {}
  void release(void* data, std::size_t bytes, const Buffer::Uses* uses) noexcept override;

  HostMemory memory_;
  std::atomic<std::size_t> live_ = 0, peak_ = 0;
};

}  // namespace lw
