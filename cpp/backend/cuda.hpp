// The backend `cuda`: the GPU code on the first device of the driver that was loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/device.hpp"

namespace lw {

/// Whether a driver is loaded and has a device that can be used.
bool cuda_runs_here() noexcept;

/// name: "cuda", which takes the arithmetic that is faster on the device, or "cuda-" with one (fp64, u64); a literal.
/// The number of threads means nothing to it. Throws lw::Error(kDevice) where there is no device.
std::unique_ptr<Backend> make_cuda_backend(std::string_view name, std::uint32_t ring_degree,
                                           const std::vector<std::uint64_t>& primes, unsigned threads,
                                           const DeviceOptions& options);
bool cuda_backend_takes(std::string_view name, const std::vector<std::uint64_t>& primes) noexcept;

}  // namespace lw
