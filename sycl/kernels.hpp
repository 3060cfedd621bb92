// Kernels in phase form as SYCL carries them out.
#pragma once

#include <sycl/sycl.hpp>

#include "backend/gpu/fp64.hpp"
#include "backend/gpu/kernels/key_product.hpp"
#include "backend/gpu/kernels/ntt.hpp"
#include "backend/gpu/u64.hpp"

namespace lw::gpu {

/// The kernel in a range of (z, y, x) threads: the last number of a SYCL range is that of neighbours.
template <class K>
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<3>))
void kernel(const typename K::Args* args, sycl::local_accessor<std::uint64_t, 1> words) {
  const sycl::nd_item<3> item = sycl::ext::oneapi::this_work_item::get_nd_item<3>();
  const auto block = [&](int i) { return static_cast<std::uint32_t>(item.get_group(i)); };
  const Place place = {{block(2), block(1), block(0)},
                       static_cast<std::uint32_t>(item.get_local_id(2)),
                       static_cast<std::uint32_t>(item.get_local_range(2))};
  typename K::Registers registers;
  const std::uint32_t phases = K::phases(*args);
  for (std::uint32_t phase = 0; phase < phases; ++phase) {
    if (phase > 0) sycl::group_barrier(item.get_group());
    K::run(phase, *args, place, Shared(&words[0]), registers);
  }
}

}  // namespace lw::gpu
