// Choices for a ring on a GPU. The forms in which its transforms are there: the ladder of the paper on XeHE,
// from one kernel for each stage to passes in registers. And the cache that batches are made for.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "backend/device.hpp"

namespace lw::gpu {

// All forms stay in the package: core and driver number their kernels by one list (kernel_list.hpp), so that a build
// without the ladder would need a driver of its own.
enum class NttForm : std::uint8_t {
  kNaive,     // radix 2, a kernel for each stage
  kRadix2,    // from here on tiles in shared memory
  kShuffle8,  // radix 2, the last stages by exchanges between so many lanes
  kShuffle16,
  kShuffle32,
  kRadix4,
  kRadix8,
  kRadix16,
  kCluster  // radix 8 in one kernel for limbs of any length, in the shared memory of neighbouring blocks
};

inline constexpr NttForm kDefaultTransform = NttForm::kRadix8;

/// The names of the forms, in the order of the values.
inline constexpr std::array<std::string_view, 9> kTransformNames = {
    "naive",    "radix-2", "radix-2-shuffle-8", "radix-2-shuffle-16", "radix-2-shuffle-32", "radix-4", "radix-8",
    "radix-16", "cluster"};

/// The form of the transforms of a ring, by its device, and which one those called from now on have, on any queue:
/// results are the same in each. Throws lw::Error(kValue) for a device that is no GPU, for an unknown name, and for
/// a form that the GPU cannot run.
std::string_view transform_of(const Device& device);
void set_transform(Device& device, std::string_view name);

/// The cache that batches of limbs of a ring on a GPU are made for: at first the device's, at most kMostCache, so that
/// what scratch there is has a bound that does not depend on the device. Results are the same. It is not set while the
/// ring computes, for scratch is as large as it says.
inline constexpr std::size_t kMostCache = std::size_t{64} << 20;
std::size_t cache_bytes_of(const Device& device);
void set_cache_bytes(Device& device, std::size_t bytes);

}  // namespace lw::gpu
