// Kernels in phase form as SYCL carries them out. This is compiled at run time: a source includes it, and has a line
// LW_SYCL_KERNEL(number) for each kernel of the list that it is for.
#pragma once

#include <sycl/sycl.hpp>

#include "backend/gpu/kernel_list.hpp"

namespace lw::gpu {

template <std::uint32_t kNumber, class List>
struct KernelAt;
template <std::uint32_t kNumber, class... K>
struct KernelAt<kNumber, KernelList<K...>> {
  using Kernel = __type_pack_element<kNumber, K...>;
};

/// The thread's part of a kernel, in a range of (z, y, x) threads: the last number of a SYCL range is that of
/// neighbours.
template <class K>
inline void carry_out(const void* memory, std::uint64_t* words) {
  const typename K::Args& args = *static_cast<const typename K::Args*>(memory);
  const sycl::nd_item<3> item = sycl::ext::oneapi::this_work_item::get_nd_item<3>();
  const auto block = [&](int i) { return static_cast<std::uint32_t>(item.get_group(i)); };
  const Place place = {{block(2), block(1), block(0)},
                       static_cast<std::uint32_t>(item.get_local_id(2)),
                       static_cast<std::uint32_t>(item.get_local_range(2))};
  typename K::Registers registers;
  const std::uint32_t phases = K::phases(args);
  for (std::uint32_t phase = 0; phase < phases; ++phase) {
    if (phase > 0 && is_barrier<K>(phase, args)) sycl::group_barrier(item.get_group());
    K::run(phase, args, place, Shared(words), registers);
  }
}

}  // namespace lw::gpu

// The entry of a kernel, by its number in the list; for one whose threads exchange words in warps, which are sub-groups
// in SYCL, with their size.
#define LW_SYCL_KERNEL(number) LW_SYCL_ENTRY(number, )
#define LW_SYCL_LANES_KERNEL(number) \
  LW_SYCL_ENTRY(number, SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::sub_group_size<32>)))
#define LW_SYCL_ENTRY(number, properties)                                                                             \
  extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<3>)) properties void \
  lw_kernel_##number(const void* args, sycl::ext::oneapi::experimental::work_group_memory<std::uint64_t[]> words) {   \
    lw::gpu::carry_out<lw::gpu::KernelAt<number, lw::gpu::AllKernels>::Kernel>(args, &words[0]);                      \
  }
