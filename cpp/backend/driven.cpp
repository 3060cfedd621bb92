#include "backend/driven.hpp"

#include <string>

#include "backend/cpu/backend.hpp"
#include "backend/gpu/backend.hpp"
#include "backend/gpu/plugin.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

/// The kind of the devices of a backend.
std::string_view kind_of(std::string_view name) noexcept { return name.substr(0, name.find('-')); }

bool is_fp64(std::string_view name) noexcept { return name.ends_with("-fp64"); }

}  // namespace

bool driven_backend_runs_here(std::string_view name) noexcept {
  const LwDriver* const loaded = gpu::current_driver(kind_of(name));
  std::int32_t devices = 0;
  return loaded != nullptr && loaded->count(&devices) == LW_OK && devices > 0;
}

bool driven_backend_takes(std::string_view name, const std::vector<std::uint64_t>& primes) noexcept {
  return !is_fp64(name) || cpu_backend_takes(primes);
}

std::unique_ptr<Backend> make_driven_backend(std::string_view name, std::uint32_t ring_degree,
                                             const std::vector<std::uint64_t>& primes, unsigned,
                                             const DeviceOptions& options) {
  const std::string_view kind = kind_of(name);
  if (!driven_backend_takes(name, primes)) {
    throw Error(ErrorKind::kValue, "backend \"" + std::string(name) + "\" needs primes below 2^50; use \"" +
                                       std::string(kind) + "\", which takes any below 2^60");
  }
  const LwDriver& driver = gpu::loaded_driver(kind);
  LwDeviceInfo info{};
  const bool is_known = driver.describe(options.number, &info) == LW_OK;  // if not, whoever makes the device says why
  const bool is_faster = name == kind && is_known && info.has_fast_doubles != 0 && cpu_backend_takes(primes);
  return make_gpu_backend(name, kind, driver, options,
                          is_fp64(name) || is_faster ? gpu::Arithmetic::kFp64 : gpu::Arithmetic::kU64, ring_degree,
                          primes);
}

}  // namespace lw
