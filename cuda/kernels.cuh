// Kernels in phase form as CUDA carries them out, and the table that a driver launches from.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

#include "backend/gpu/kernel_list.hpp"
#include "backend/gpu/phase.hpp"

namespace lw::gpu {

template <class K>
__global__ void __launch_bounds__(K::kThreads) kernel(const __grid_constant__ typename K::Args args) {
  extern __shared__ std::uint64_t words[];
  const Place place = {{blockIdx.x, blockIdx.y, blockIdx.z}, threadIdx.x, blockDim.x};
  typename K::Registers registers;
  const std::uint32_t phases = K::phases(args);
  for (std::uint32_t phase = 0; phase < phases; ++phase) {
    if (phase > 0) __syncthreads();
    K::run(phase, args, place, Shared(words), registers);
  }
}

/// One entry for each kernel of a list, in its order.
template <class List>
struct KernelTable;

template <class... K>
struct KernelTable<KernelList<K...>> {
  static constexpr std::uint32_t kSize = sizeof...(K);
  static constexpr const char* kNames[] = {K::kName...};
  static constexpr std::uint32_t kArgsBytes[] = {sizeof(typename K::Args)...};
  static const void* entry(std::uint32_t number) {
    static const void* const kEntries[] = {reinterpret_cast<const void*>(&kernel<K>)...};
    return kEntries[number];
  }
};

using Table = KernelTable<AllKernels>;

}  // namespace lw::gpu
