// Backends on the devices of a driver.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/device.hpp"
#include "backend/gpu/driver.h"
#include "backend/gpu/tables.hpp"

namespace lw {

/// name: of the backend, kind: of devices that the driver has; both literals. Throws lw::Error(kDevice) or
/// kOutOfMemory.
std::unique_ptr<Backend> make_gpu_backend(std::string_view name, std::string_view kind, const LwDriver& driver,
                                          const DeviceOptions& options, gpu::Arithmetic arithmetic,
                                          std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes);

}  // namespace lw
