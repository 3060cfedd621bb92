// Measures the throughput of a device.
#pragma once

#include <cstdint>

#include "backend/device.hpp"

namespace lw::gpu {

enum class Rate { kCopy, kRead, kFma, kMultiplyAdd };

/// `launches` kernels of kernels/rates.hpp, one after the other.
struct RateWork {
  Rate rate;
  std::size_t words;     // copied, or read; or threads of a computation: a multiple of 1024
  std::uint32_t rounds;  // over all words, or of eight operations a thread; means nothing to a copy
  std::uint32_t launches;
  std::uint32_t replays;  // 0: launched one by one; else all are captured as one graph, which is replayed so often
};

/// The seconds that it takes by the device's own clock, after one launch that is not counted. The queue is one of a
/// device behind a driver. Throws as Device::check does.
double rate_seconds(Device& device, Queue& queue, const RateWork& work);

}  // namespace lw::gpu
