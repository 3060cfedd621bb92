// Kernels in phase form as CUDA carries them out, and the table that a driver launches from.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

#include "backend/gpu/kernel_list.hpp"
#include "backend/gpu/phase.hpp"

namespace lw::gpu {

/// The number of phases that are unrolled: all, where their number is known.
template <class K>
inline constexpr std::uint32_t kUnrolled = 1;
template <class K>
  requires requires { K::kPhases; }
inline constexpr std::uint32_t kUnrolled<K> = K::kPhases;

/// All threads that go through phases together meet: those of a block, or of a cluster.
template <class K>
__device__ __forceinline__ void meet() {
  if constexpr (kClusterOf<K> == 1) {
    __syncthreads();
  } else {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    __trap();  // there are no clusters
#endif
  }
}

template <class K>
__global__ void __launch_bounds__(K::kThreads, kBlocksOf<K>) kernel(const __grid_constant__ typename K::Args args) {
  extern __shared__ std::uint64_t words[];
  const Place place = {{blockIdx.x, blockIdx.y, blockIdx.z}, threadIdx.x, blockDim.x};
  typename K::Registers registers;
  const std::uint32_t phases = K::phases(args);
#pragma unroll(kUnrolled<K>)
  for (std::uint32_t phase = 0; phase < phases; ++phase) {
    if (phase > 0 && is_barrier<K>(phase, args)) meet<K>();
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
  static constexpr std::uint32_t kClusters[] = {kClusterOf<K>...};
  static const void* entry(std::uint32_t number) {
    static const void* const kEntries[] = {reinterpret_cast<const void*>(&kernel<K>)...};
    return kEntries[number];
  }
};

using Table = KernelTable<AllKernels>;

}  // namespace lw::gpu
