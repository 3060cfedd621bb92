// Backends on the devices of a driver that was loaded: the GPU code on the first device, or the one that is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/device.hpp"

namespace lw {

/// Whether a driver for the backend is loaded and has a device that can be used.
bool driven_backend_runs_here(std::string_view name) noexcept;

/// name: a kind of gpu::kDriverKinds, which takes the arithmetic that is faster on the device, or the kind and one
/// ("cuda-fp64", "cuda-u64"); a literal. The number of threads means nothing to it. Throws lw::Error(kDevice) where
/// there is no device.
std::unique_ptr<Backend> make_driven_backend(std::string_view name, std::uint32_t ring_degree,
                                             const std::vector<std::uint64_t>& primes, unsigned threads,
                                             const DeviceOptions& options);
bool driven_backend_takes(std::string_view name, const std::vector<std::uint64_t>& primes) noexcept;

}  // namespace lw
