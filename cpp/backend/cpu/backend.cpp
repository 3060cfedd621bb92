#include "backend/cpu/backend.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/memory.hpp"
#include "backend/cpu/queue.hpp"
#include "math/error.hpp"

namespace lw {
namespace cpu {
namespace {

constexpr Kernels kKernels = {
    .ntt = ntt,
    .intt = intt,
    .add = add,
    .sub = sub,
    .neg = neg,
    .mul = mul,
    .mul_add = mul_add,
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
    .import_residues = import_residues,
    .export_residues = export_residues,
    .expand_uniform = expand_uniform,
    .embed = embed,
    .unembed = unembed,
};

/// The table for this machine, or nullptr.
const RowKernels* row_kernels() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &kAvx2Rows;
#endif
  return nullptr;
}

class CpuDevice final : public Device {
 public:
  CpuDevice(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads)
      : queue_(ring_degree, primes, threads, *row_kernels()) {}

  std::string_view name() const noexcept override { return "cpu"; }
  unsigned threads() const noexcept { return queue_.pool.threads(); }

  Buffer allocate(std::size_t bytes) override {
    void* data = arenas_.allocate(bytes);
    if (data == nullptr) {
      throw Error(ErrorKind::kOutOfMemory, "cpu device: no memory for " + std::to_string(bytes) + " bytes, " +
                                               std::to_string(live_bytes()) + " in use; lower the memory budget");
    }
    const std::size_t live = live_.fetch_add(bytes) + bytes;
    std::size_t peak = peak_.load();
    while (peak < live && !peak_.compare_exchange_weak(peak, live)) {
    }
    return Buffer(data, bytes, shared_from_this());
  }

  Queue& queue(int) override { return queue_; }
  Event record(Queue&) override { return {}; }
  void wait(Queue&, const Event&) override {}
  void copy(Queue&, void* to, const void* from, std::size_t bytes) override { std::memmove(to, from, bytes); }

  std::size_t live_bytes() const noexcept override { return live_.load(); }
  std::size_t peak_bytes() const noexcept override { return peak_.load(); }
  void reset_peak() noexcept override { peak_.store(live_.load()); }

 private:
  void release(void* data, std::size_t bytes) noexcept override {
    live_.fetch_sub(bytes);
    arenas_.release(data);
  }

  CpuQueue queue_;
  Arenas arenas_;
  std::atomic<std::size_t> live_ = 0;
  std::atomic<std::size_t> peak_ = 0;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads)
      : device_(std::make_shared<CpuDevice>(ring_degree, primes, threads)) {}

  std::string_view name() const noexcept override { return "cpu"; }
  const Kernels& kernels() const noexcept override { return kKernels; }
  Device& device() noexcept override { return *device_; }
  unsigned threads() const noexcept override { return device_->threads(); }

 private:
  std::shared_ptr<CpuDevice> device_;
};

}  // namespace
}  // namespace cpu

bool cpu_backend_runs_here() noexcept { return cpu::row_kernels() != nullptr; }

bool cpu_backend_takes(const std::vector<std::uint64_t>& primes) noexcept {
  return std::all_of(primes.begin(), primes.end(), [](std::uint64_t prime) { return prime < cpu::kPrimeLimit; });
}

std::unique_ptr<Backend> make_cpu_backend(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes,
                                          unsigned threads) {
  if (!cpu_backend_runs_here()) {
    throw Error(ErrorKind::kValue, "backend \"cpu\" needs AVX2 and FMA, which this machine lacks; choose \"ref\"");
  }
  if (!cpu_backend_takes(primes)) {
    throw Error(ErrorKind::kValue, "backend \"cpu\" takes primes below 2^50, and modulus " +
                                       std::to_string(*std::max_element(primes.begin(), primes.end())) +
                                       " is not; use smaller primes, or choose \"ref\"");
  }
  return std::make_unique<cpu::CpuBackend>(ring_degree, primes, threads);
}

}  // namespace lw
