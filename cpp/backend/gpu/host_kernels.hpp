// The kernels as the host carries them out.
#pragma once

#include <span>

#include "backend/gpu/host_kernel.hpp"

namespace lw::gpu {

/// The kernels as host functions, by their numbers in AllKernels.
std::span<const HostKernel> host_kernels() noexcept;

}  // namespace lw::gpu
