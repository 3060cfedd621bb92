#include "backend/host_device.hpp"

#include <cstring>
#include <string>

#include "math/error.hpp"

namespace lw {

Buffer HostDevice::allocate(std::size_t bytes) {
  void* data = memory_.allocate(bytes);
  if (data == nullptr) {
    throw Error(ErrorKind::kOutOfMemory, std::string(name()) + " device: no memory for " + std::to_string(bytes) +
                                             " bytes, " + std::to_string(live_bytes()) +
                                             " in use; lower the memory budget");
  }
  const std::size_t live = live_.fetch_add(bytes) + bytes;
  std::size_t peak = peak_.load();
  while (peak < live && !peak_.compare_exchange_weak(peak, live)) {
  }
  return Buffer(data, bytes, shared_from_this());
}

void HostDevice::copy_strided(const StridedCopy& copy) noexcept {
  for (std::size_t i = 0; i < copy.limbs; ++i) {
    std::memcpy(static_cast<std::byte*>(copy.to) + i * copy.to_step,
                static_cast<const std::byte*>(copy.from) + i * copy.from_step, copy.bytes);
  }
}

void HostDevice::release(void* data, std::size_t bytes, const Buffer::Uses*) noexcept {
  live_.fetch_sub(bytes);
  memory_.release(data);
}

}  // namespace lw
