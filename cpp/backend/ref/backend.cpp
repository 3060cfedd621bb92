#include "backend/ref/backend.hpp"

#include "backend/embedding.hpp"
#include "backend/host_device.hpp"
#include "backend/ref/kernels.hpp"
#include "backend/ref/queue.hpp"
#include "backend/timed_kernels.hpp"

namespace lw {
namespace ref {
namespace {

void embed(Queue& q, std::span<std::complex<double>> values) noexcept { embed_values(ref_queue(q).roots, values); }
void unembed(Queue& q, std::span<std::complex<double>> values) noexcept { unembed_values(ref_queue(q).roots, values); }

constexpr Kernels kKernels = {
    .ntt = ntt,
    .intt = intt,
    .copy = copy,
    .zero = zero,
    .monomial = monomial,
    .add = add,
    .sub = sub,
    .neg = neg,
    .mul = mul,
    .mul_add = mul_add,
    .tensor = tensor,
    .mul_scalar = mul_scalar,
    .add_scalar = add_scalar,
    .sub_scale = sub_scale,
    .dot = dot,
    .automorphism = automorphism,
    .lift = lift,
    .key_switch = key_switch,
    .diag_sums = diag_sums,
    .mod_down = mod_down,
    .key_switch_scratch = key_switch_scratch,
    .diag_sums_scratch = diag_sums_scratch,
    .mod_down_scratch = mod_down_scratch,
    .import_signed = import_signed,
    .import_integers = import_integers,
    .ntt_integers = ntt_integers,
    .import_residues = import_residues,
    .export_residues = export_residues,
    .expand_uniform = expand_uniform,
    .import_seeded = import_seeded,
    .embed = embed,
    .unembed = unembed,
};

class RefDevice final : public HostDevice {
 public:
  RefDevice(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads)
      : queue_(ring_degree, primes, threads) {}

  std::string_view name() const noexcept override { return "ref"; }
  unsigned threads() const noexcept { return queue_.pool.threads(); }
  std::size_t row_stride() const noexcept { return host_row_stride(queue_.degree); }

  Queue& queue(int) override { return queue_; }

 private:
  RefQueue queue_;
};

class RefBackend final : public Backend {
 public:
  RefBackend(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads)
      : device_(std::make_shared<RefDevice>(ring_degree, primes, threads)) {}

  std::string_view name() const noexcept override { return "ref"; }
  RowForm form() const noexcept override { return {"canonical integers", "host"}; }
  std::size_t row_stride() const noexcept override { return device_->row_stride(); }
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
