// A queue of one ring on one GPU, on which the kernel entries work.
#pragma once

#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/device.hpp"
#include "backend/gpu/card.hpp"
#include "backend/gpu/conversion_copies.hpp"
#include "backend/gpu/host_kernel.hpp"
#include "backend/gpu/kernel_list.hpp"
#include "backend/gpu/staging.hpp"
#include "backend/gpu/tables.hpp"
#include "backend/gpu/transform.hpp"

namespace lw::gpu {

/// The host's copy of a ring's constants, for the kernel entries.
struct HostRing {
  std::vector<Modulus> moduli;
  std::vector<std::complex<double>> roots;
};

/// The settings of a ring that may change while it is used; results are the same with each.
struct RingChoices {
  std::atomic<NttForm> transform = kDefaultTransform;
  std::atomic<std::size_t> cache_bytes = 0;  // that batches of limbs are made for
};

/// An in-order queue. After a failure of its card it launches and copies nothing. Safe to share between threads.
class GpuQueue final : public Queue {
 public:
  GpuQueue(Card& card, int number, const Tables& tables, const HostRing& host, ConversionCopies& conversions,
           const RingChoices& choices) noexcept
      : card_(card),
        number_(number),
        tables_(tables),
        host_(host),
        conversions_(conversions),
        choices_(choices),
        staging_(card, number) {}

  Card& card() noexcept { return card_; }
  const Card& card() const noexcept { return card_; }
  int number() const noexcept { return number_; }
  StagingBlocks& staging() noexcept { return staging_; }
  /// Gets staging memory of `bytes` from the queue's blocks, or from the recording that captures what is called.
  StagingBlocks::Place stage(std::size_t bytes) noexcept;

  /// The ring's constants on the device.
  const Tables& tables() const noexcept { return tables_; }
  /// The form of the ring's transforms.
  NttForm transform() const noexcept { return choices_.transform; }
  /// The bytes of the device's cache that batches of limbs are made for.
  std::size_t cache_bytes() const noexcept { return choices_.cache_bytes; }
  /// The moduli by limb number, on the host.
  std::span<const Modulus> moduli() const noexcept { return host_.moduli; }
  /// Roots of the canonical embedding, on the host.
  std::span<const std::complex<double>> roots() const noexcept { return host_.roots; }
  /// A copy of the table on the device, which stays there if the table has a number.
  DeviceConversion conversion(const BaseConversionTable& table, Staging& staging) noexcept {
    return conversions_.copy(table, *this, staging);
  }

  /// Starts a kernel: blocks of `threads` threads with `shared_words` words of shared memory each. No block: nothing.
  template <class K>
  void launch(const typename K::Args& args, const Grid& grid, std::uint32_t shared_words = 0) noexcept {
    if (grid.blocks[0] == 0 || grid.blocks[1] == 0 || grid.blocks[2] == 0) return;
    start(AllKernels::number<K>(), &args, sizeof args, grid, shared_words);
  }
  /// Copies `bytes` from pinned memory, which must stay as it is until the copy is done, to the device.
  void upload(void* to, const void* from, std::size_t bytes) noexcept;
  void copy(void* to, const void* from, std::size_t bytes) noexcept;
  /// Copies to the host, whose memory is not to be touched before the queue was waited for.
  void download_later(void* to, const void* from, std::size_t bytes) noexcept;
  /// Copies to the host as `download_later` does, and waits for it.
  void download(void* to, const void* from, std::size_t bytes) noexcept;

 private:
  void start(std::uint32_t kernel, const void* args, std::uint32_t args_bytes, const Grid& grid,
             std::uint32_t shared_words) noexcept;
  void note_call(std::size_t args_bytes) noexcept;

  Card& card_;
  const int number_;
  const Tables& tables_;
  const HostRing& host_;
  ConversionCopies& conversions_;
  const RingChoices& choices_;
  StagingBlocks staging_;
};

inline GpuQueue& gpu_queue(Queue& queue) noexcept { return static_cast<GpuQueue&>(queue); }

}  // namespace lw::gpu
