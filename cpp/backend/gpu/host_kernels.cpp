#include "backend/gpu/host_kernels.hpp"

#include <array>

#include "backend/gpu/kernel_list.hpp"

namespace lw::gpu {
namespace {

template <class... K>
constexpr std::array<HostKernel, sizeof...(K)> list(KernelList<K...>) noexcept {
  static_assert(((sizeof(typename K::Args) <= 32764) && ...), "what a launch takes from compute capability 7.0 on");
  return {host_kernel<K>()...};
}

constexpr auto kHostKernels = list(AllKernels());

}  // namespace

std::span<const HostKernel> host_kernels() noexcept { return kHostKernels; }

}  // namespace lw::gpu
