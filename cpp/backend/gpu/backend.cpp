#include "backend/gpu/backend.hpp"

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "backend/gpu/client_entries.hpp"
#include "backend/gpu/device.hpp"
#include "backend/gpu/entries.hpp"

namespace lw {
namespace gpu {
namespace {

class GpuBackend final : public Backend {
 public:
  GpuBackend(std::string_view name, std::shared_ptr<GpuDevice> device, Arithmetic arithmetic, std::size_t limb_stride)
      : name_(name), device_(std::move(device)), arithmetic_(arithmetic), limb_stride_(limb_stride) {}

  std::string_view name() const noexcept override { return name_; }
  ResidueForm form() const noexcept override {
    return {arithmetic_ == Arithmetic::kFp64 ? "balanced float64" : "canonical integers", device_->name(),
            device_->card().number()};
  }
  std::size_t limb_stride() const noexcept override { return limb_stride_; }
  const Kernels& kernels() const noexcept override { return entries_of(arithmetic_); }
  const ClientKernels* client() const noexcept override { return &client_of(arithmetic_); }
  Device& device() noexcept override { return *device_; }
  unsigned threads() const noexcept override { return 1; }

 private:
  const std::string_view name_;
  const std::shared_ptr<GpuDevice> device_;
  const Arithmetic arithmetic_;
  const std::size_t limb_stride_;
};

/// "sim:0" and its like, which stay.
std::string_view device_name(std::string_view kind, std::int32_t number) {
  static std::mutex mutex;
  static std::set<std::string> names;
  const std::lock_guard lock(mutex);
  return *names.insert(std::string(kind) + ":" + std::to_string(number)).first;
}

}  // namespace
}  // namespace gpu

std::unique_ptr<Backend> make_gpu_backend(std::string_view name, std::string_view kind, const LwDriver& driver,
                                          const DeviceOptions& options, gpu::Arithmetic arithmetic,
                                          std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes) {
  auto made = std::make_shared<gpu::GpuDevice>(gpu::device_name(kind, options.number), gpu::Card::of(driver, options),
                                               ring_degree, primes, arithmetic);
  return std::make_unique<gpu::GpuBackend>(name, std::move(made), arithmetic, ring_degree);
}

}  // namespace lw
