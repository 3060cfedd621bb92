#include "backend/gpu/transform.hpp"

#include <algorithm>
#include <string>

#include "backend/gpu/device.hpp"
#include "math/error.hpp"

namespace lw::gpu {
namespace {

constexpr std::uint32_t kClusterCompute = 9;  // blocks reach each other's shared memory from this generation on

template <class Gpu, class Any>
Gpu& gpu_device(Any& device) {
  auto* const found = dynamic_cast<Gpu*>(&device);
  if (found != nullptr) return *found;
  throw Error(ErrorKind::kValue, "transform: on the device \"" + std::string(device.name()) +
                                     "\" transforms have one form; use a ring on a GPU, or on a simulated one");
}

}  // namespace

std::string_view transform_of(const Device& device) {
  return kTransformNames[static_cast<std::size_t>(gpu_device<const GpuDevice>(device).transform())];
}

void set_transform(Device& device, std::string_view name) {
  GpuDevice& gpu = gpu_device<GpuDevice>(device);
  const auto found = std::find(kTransformNames.begin(), kTransformNames.end(), name);
  if (found == kTransformNames.end()) {
    std::string known;
    for (const std::string_view one : kTransformNames) known.append(known.empty() ? "" : ", ").append(one);
    throw Error(ErrorKind::kValue, "transform \"" + std::string(name) + "\" does not exist; choose one of " + known);
  }
  const auto transform = static_cast<NttForm>(found - kTransformNames.begin());
  const LwDeviceInfo& info = gpu.card().info();
  if (transform == NttForm::kCluster && info.compute_major > 0 && info.compute_major < kClusterCompute) {
    throw Error(ErrorKind::kValue, "transform \"cluster\" needs a GPU of compute capability " +
                                       std::to_string(kClusterCompute) + ".0; this one, " + info.name + ", has " +
                                       std::to_string(info.compute_major) + "." + std::to_string(info.compute_minor));
  }
  gpu.set_transform(transform);
}

}  // namespace lw::gpu
