// Tables of base conversions on a device, each made once.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "backend/gpu/card.hpp"
#include "backend/gpu/tables.hpp"
#include "backend/kernels.hpp"

namespace lw::gpu {

class GpuDevice;
class GpuQueue;
class Staging;

/// Safe to share between threads.
class ConversionCopies {
 public:
  /// moduli: of the ring, by limb number; they outlive this.
  ConversionCopies(GpuDevice& device, Card& card, Arithmetic arithmetic, std::span<const Modulus> moduli) noexcept
      : device_(device), card_(card), arithmetic_(arithmetic), moduli_(moduli) {}
  ~ConversionCopies();
  ConversionCopies(const ConversionCopies&) = delete;
  ConversionCopies& operator=(const ConversionCopies&) = delete;

  /// The table for kernels called next on the queue; what has no number stays only as long as `staging`.
  DeviceConversion copy(const BaseConversionTable& table, GpuQueue& queue, Staging& staging) noexcept;

 private:
  struct Held {
    void* memory;
    std::size_t bytes;
    int writer;  // the queue that copied it there
  };

  GpuDevice& device_;
  Card& card_;
  const Arithmetic arithmetic_;
  const std::span<const Modulus> moduli_;
  std::mutex mutex_;
  std::map<std::uint64_t, Held> held_;  // by number
};

}  // namespace lw::gpu
