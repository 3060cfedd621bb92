#include "backend/cuda.hpp"

#include <string>

#include "backend/cpu/backend.hpp"
#include "backend/gpu/backend.hpp"
#include "backend/gpu/plugin.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

const LwDriver& driver() {
  if (const LwDriver* const loaded = gpu::current_driver()) return *loaded;
  throw Error(ErrorKind::kDevice, "backend \"cuda\": no driver for GPUs is loaded; install latticework-cuda");
}

/// Chips that do float64 at half the rate of float32; others do it at 1/32 or 1/64 of it. 8.0 has the float64 units
/// too, but as many 32-bit multiply-adds a clock as make the two equal. Source: CUDA C++ Programming Guide, arithmetic
/// instructions, table of throughputs by compute capability.
bool has_fast_doubles(const LwDeviceInfo& info) noexcept {
  return info.compute_minor == 0 && (info.compute_major == 9 || info.compute_major == 10);
}

}  // namespace

bool cuda_runs_here() noexcept {
  const LwDriver* const loaded = gpu::current_driver();
  std::int32_t devices = 0;
  return loaded != nullptr && loaded->count(&devices) == LW_OK && devices > 0;
}

bool cuda_backend_takes(std::string_view name, const std::vector<std::uint64_t>& primes) noexcept {
  return name != "cuda-fp64" || cpu_backend_takes(primes);
}

std::unique_ptr<Backend> make_cuda_backend(std::string_view name, std::uint32_t ring_degree,
                                           const std::vector<std::uint64_t>& primes, unsigned,
                                           const DeviceOptions& options) {
  if (!cuda_backend_takes(name, primes)) {
    throw Error(ErrorKind::kValue,
                "backend \"cuda-fp64\" needs primes below 2^50; use \"cuda\", which takes any below "
                "2^60");
  }
  LwDeviceInfo info{};
  const bool is_known = driver().describe(options.number, &info) == LW_OK;  // if not, whoever makes the device says why
  const bool is_fp64 =
      name == "cuda-fp64" || (name == "cuda" && is_known && has_fast_doubles(info) && cpu_backend_takes(primes));
  return make_gpu_backend(name, "cuda", driver(), options, is_fp64 ? gpu::Arithmetic::kFp64 : gpu::Arithmetic::kU64,
                          ring_degree, primes);
}

}  // namespace lw
