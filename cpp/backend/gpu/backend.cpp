#include "backend/gpu/backend.hpp"

#include <utility>

#include "backend/gpu/device.hpp"
#include "backend/gpu/entries.hpp"

namespace lw {
namespace gpu {
namespace {

class GpuBackend final : public Backend {
 public:
  GpuBackend(std::string_view name, std::shared_ptr<GpuDevice> device, Arithmetic arithmetic, std::size_t row_stride)
      : name_(name), device_(std::move(device)), arithmetic_(arithmetic), row_stride_(row_stride) {}

  std::string_view name() const noexcept override { return name_; }
  RowForm form() const noexcept override {
    return {arithmetic_ == Arithmetic::kFp64 ? "balanced doubles" : "canonical integers", device_->name()};
  }
  std::size_t row_stride() const noexcept override { return row_stride_; }
  const Kernels& kernels() const noexcept override { return entries_of(arithmetic_); }
  Device& device() noexcept override { return *device_; }
  unsigned threads() const noexcept override { return 1; }

 private:
  const std::string_view name_;
  const std::shared_ptr<GpuDevice> device_;
  const Arithmetic arithmetic_;
  const std::size_t row_stride_;
};

}  // namespace
}  // namespace gpu

std::unique_ptr<Backend> make_gpu_backend(std::string_view name, std::string_view device_name, const LwDriver& driver,
                                          std::int32_t device, gpu::Arithmetic arithmetic, std::uint32_t ring_degree,
                                          const std::vector<std::uint64_t>& primes) {
  auto made =
      std::make_shared<gpu::GpuDevice>(device_name, gpu::Card::of(driver, device), ring_degree, primes, arithmetic);
  return std::make_unique<gpu::GpuBackend>(name, std::move(made), arithmetic, ring_degree);
}

}  // namespace lw
