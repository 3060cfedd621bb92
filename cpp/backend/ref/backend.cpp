#include "backend/ref/backend.hpp"

#include "backend/embedding.hpp"
#include "backend/host_device.hpp"
#include "backend/ref/kernels.hpp"
#include "backend/ref/queue.hpp"
#include "backend/timed_kernels.hpp"

namespace lw {
namespace ref {

void embed(Queue& q, std::span<std::complex<double>> values) noexcept { embed_values(ref_queue(q).roots, values); }
void unembed(Queue& q, std::span<std::complex<double>> values) noexcept { unembed_values(ref_queue(q).roots, values); }

namespace {

constexpr Kernels kKernels = {
#define LW_KERNEL(result, name, parameters) .name = name,
#include "backend/kernels.def"
};

class RefDevice final : public HostDevice {
 public:
  RefDevice(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads)
      : queue_(ring_degree, primes, threads) {}

  std::string_view name() const noexcept override { return "ref"; }
  unsigned threads() const noexcept { return queue_.pool.threads(); }
  std::size_t limb_stride() const noexcept { return host_limb_stride(queue_.degree); }

  Queue& queue(int) override { return queue_; }

 private:
  RefQueue queue_;
};

class RefBackend final : public Backend {
 public:
  RefBackend(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads)
      : device_(std::make_shared<RefDevice>(ring_degree, primes, threads)) {}

  std::string_view name() const noexcept override { return "ref"; }
  ResidueForm form() const noexcept override { return {"canonical integers", "host"}; }
  std::size_t limb_stride() const noexcept override { return device_->limb_stride(); }
  const Kernels& kernels() const noexcept override { return profiled<kKernels>(); }
  Device& device() noexcept override { return *device_; }
  unsigned threads() const noexcept override { return device_->threads(); }

 private:
  std::shared_ptr<RefDevice> device_;
};

}  // namespace
}  // namespace ref

std::unique_ptr<Backend> make_ref_backend(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes,
                                          unsigned threads) {
  return std::make_unique<ref::RefBackend>(ring_degree, primes, threads);
}

}  // namespace lw
