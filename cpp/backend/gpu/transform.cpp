#include "backend/gpu/transform.hpp"

#include <algorithm>
#include <string>

#include "backend/gpu/device.hpp"
#include "math/error.hpp"

namespace lw::gpu {
namespace {

template <class Gpu, class Any>
Gpu& gpu_device(Any& device, const char* what) {
  auto* const found = dynamic_cast<Gpu*>(&device);
  if (found != nullptr) return *found;
  throw Error(ErrorKind::kValue, std::string(what) + ": on the device \"" + std::string(device.name()) +
                                     "\" there is nothing to choose; use a ring on a GPU, or on a simulated one");
}

}  // namespace

std::string_view transform_of(const Device& device) {
  const RingChoices& choices = gpu_device<const GpuDevice>(device, "transform").choices();
  return kTransformNames[static_cast<std::size_t>(choices.transform.load())];
}

void set_transform(Device& device, std::string_view name) {
  GpuDevice& gpu = gpu_device<GpuDevice>(device, "transform");
  const auto found = std::find(kTransformNames.begin(), kTransformNames.end(), name);
  if (found == kTransformNames.end()) {
    std::string known;
    for (const std::string_view one : kTransformNames) known.append(known.empty() ? "" : ", ").append(one);
    throw Error(ErrorKind::kValue, "transform \"" + std::string(name) + "\" does not exist; choose one of " + known);
  }
  const auto transform = static_cast<NttForm>(found - kTransformNames.begin());
  const LwDeviceInfo& info = gpu.card().info();
  if (transform == NttForm::kCluster && info.has_clusters == 0) {
    const std::string own = std::to_string(info.compute_major) + "." + std::to_string(info.compute_minor);
    throw Error(ErrorKind::kValue, std::string("transform \"cluster\" needs a GPU of compute capability 9.0; this "
                                               "device, ") +
                                       info.name + ", has " +
                                       (info.compute_major == 0 ? "no clusters of blocks" : own));
  }
  gpu.choices().transform = transform;
}

std::size_t cache_bytes_of(const Device& device) {
  return gpu_device<const GpuDevice>(device, "cache_bytes").choices().cache_bytes;
}

void set_cache_bytes(Device& device, std::size_t bytes) {
  gpu_device<GpuDevice>(device, "cache_bytes").choices().cache_bytes = std::min(bytes, kMostCache);
}

}  // namespace lw::gpu
