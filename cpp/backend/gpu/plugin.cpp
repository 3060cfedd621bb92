#include "backend/gpu/plugin.hpp"

#include <dlfcn.h>

#include <atomic>
#include <span>
#include <string_view>

#include "backend/gpu/host_kernels.hpp"
#include "math/error.hpp"

namespace lw::gpu {
namespace {

std::atomic<const LwDriver*> loaded = nullptr;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::kDevice, path + ": " + why);
}

/// A driver numbers kernels as this library does, and knows their arguments by size alone.
bool has_these_kernels(const LwDriver& driver) {
  const std::span<const HostKernel> kernels = host_kernels();
  if (driver.num_kernels != kernels.size()) return false;
  for (std::uint32_t i = 0; i < driver.num_kernels; ++i) {
    if (std::string_view(driver.kernel_names[i]) != kernels[i].name) return false;
    if (driver.args_bytes[i] != kernels[i].args_bytes) return false;
  }
  return true;
}

}  // namespace

const LwDriver& load_driver(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    refuse(path, std::string("the driver cannot be loaded: ") + (reason == nullptr ? "no reason given" : reason));
  }
  const auto entry = reinterpret_cast<const LwDriver* (*)()>(dlsym(library, "latticework_driver"));
  if (entry == nullptr) refuse(path, "this library is no driver: it has no function latticework_driver");
  const LwDriver& driver = *entry();
  if (driver.version != LW_DRIVER_VERSION) {
    refuse(path, "the driver is for version " + std::to_string(driver.version) + " of the table, this library has " +
                     std::to_string(LW_DRIVER_VERSION) + ": install the two from the same release");
  }
  if (!has_these_kernels(driver)) {
    refuse(path, "the driver has other kernels than this library: install the two from the same release");
  }
  loaded.store(&driver);
  return driver;
}

const LwDriver* loaded_driver() noexcept { return loaded.load(); }

}  // namespace lw::gpu
