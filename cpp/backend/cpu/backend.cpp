#include "backend/cpu/backend.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"
#include "backend/host_device.hpp"
#include "backend/timed_kernels.hpp"
#include "math/error.hpp"
#include "math/vector_sets.hpp"

namespace lw {
namespace cpu {
namespace {

constexpr Kernels kKernels = {
#define LW_KERNEL(result, name, parameters) .name = name,
#include "backend/kernels.def"
};

struct InstructionSet {
  std::string_view name;  // of the backend that uses it alone
  std::string_view needs;
  bool is_here;
  const LimbKernels* limbs;
  const LimbKernels* short_limbs;  // for degrees below least_degree
  std::uint32_t least_degree;
};

#if defined(__x86_64__)
constexpr const LimbKernels *kAvx512 = &kAvx512Limbs, *kAvx2 = &kAvx2Limbs, *kNeon = nullptr;
#elif defined(__aarch64__)
constexpr const LimbKernels *kAvx512 = nullptr, *kAvx2 = nullptr, *kNeon = &kNeonLimbs;
#else
constexpr const LimbKernels *kAvx512 = nullptr, *kAvx2 = nullptr, *kNeon = nullptr;
#endif

/// The instruction sets that `cpu` is built for on some machine, from the most to the least wanted.
std::span<const InstructionSet> instruction_sets() noexcept {
  const bool has_avx512 = widest_vectors() >= VectorSet::kAvx512, has_avx2 = widest_vectors() >= VectorSet::kAvx2;
  static const std::array kSets = {
      InstructionSet{"cpu-avx512", "AVX-512 (F, DQ, BW, VL)", has_avx512, kAvx512, kAvx2, kAvx512Degree},
      InstructionSet{"cpu-avx2", "AVX2 and FMA", has_avx2, kAvx2, kAvx2, 0},
      InstructionSet{"cpu-neon", "a 64-bit ARM processor", kNeon != nullptr, kNeon, kNeon, 0},
  };
  return kSets;
}

/// The kernels that the backend of this name uses on this machine, or nullptr.
const InstructionSet* instruction_set(std::string_view name) noexcept {
  const auto sets = instruction_sets();
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const InstructionSet& set) {
    return set.is_here && (name == "cpu" || name == set.name);
  });
  return found == sets.end() ? nullptr : &*found;
}

class CpuDevice final : public HostDevice {
 public:
  CpuDevice(std::string_view name, const InstructionSet& set, std::uint32_t ring_degree,
            const std::vector<std::uint64_t>& primes, unsigned threads)
      : name_(name),
        queue_(ring_degree, primes, threads, ring_degree < set.least_degree ? *set.short_limbs : *set.limbs) {}

  std::string_view name() const noexcept override { return name_; }
  unsigned threads() const noexcept { return queue_.pool.threads(); }
  std::size_t limb_stride() const noexcept { return host_limb_stride(queue_.degree); }

  Queue& queue(int) override { return queue_; }

 private:
  std::string_view name_;
  CpuQueue queue_;
};

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(std::shared_ptr<CpuDevice> device) noexcept : device_(std::move(device)) {}

  std::string_view name() const noexcept override { return device_->name(); }
  ResidueForm form() const noexcept override { return {"balanced float64", "host"}; }
  std::size_t limb_stride() const noexcept override { return device_->limb_stride(); }
  const Kernels& kernels() const noexcept override { return profiled<kKernels>(); }
  Device& device() noexcept override { return *device_; }
  unsigned threads() const noexcept override { return device_->threads(); }

 private:
  std::shared_ptr<CpuDevice> device_;
};

}  // namespace
}  // namespace cpu

bool cpu_backend_runs_here(std::string_view name) noexcept { return cpu::instruction_set(name) != nullptr; }

bool cpu_backend_takes(const std::vector<std::uint64_t>& primes) noexcept {
  return std::all_of(primes.begin(), primes.end(), [](std::uint64_t prime) { return prime < cpu::kPrimeLimit; });
}

std::unique_ptr<Backend> make_cpu_backend(std::string_view name, std::uint32_t ring_degree,
                                          const std::vector<std::uint64_t>& primes, unsigned threads) {
  const cpu::InstructionSet* set = cpu::instruction_set(name);
  if (set == nullptr) {
    std::string needs = "AVX2 and FMA, or a 64-bit ARM processor";
    for (const cpu::InstructionSet& other : cpu::instruction_sets()) {
      if (other.name == name) needs = other.needs;
    }
    throw Error(ErrorKind::kValue, "backend \"" + std::string(name) + "\" needs " + needs +
                                       ", which this machine lacks; choose \"auto\" or \"ref\"");
  }
  if (!cpu_backend_takes(primes)) {
    throw Error(ErrorKind::kValue, "backend \"" + std::string(name) + "\" takes primes below 2^50, and modulus " +
                                       std::to_string(*std::max_element(primes.begin(), primes.end())) +
                                       " is not; use smaller primes, or choose \"ref\"");
  }
  return std::make_unique<cpu::CpuBackend>(std::make_shared<cpu::CpuDevice>(name, *set, ring_degree, primes, threads));
}

}  // namespace lw
