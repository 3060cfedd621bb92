#include "backend/simulated.hpp"

#include <string>

#include "backend/cpu/backend.hpp"
#include "backend/gpu/backend.hpp"
#include "backend/gpu/host_kernels.hpp"
#include "backend/sim/simulator.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

gpu::Arithmetic arithmetic_of(std::string_view name, const std::vector<std::uint64_t>& primes) noexcept {
  const bool is_integer = name.starts_with("sim-u64") || (name == "sim" && !cpu_backend_takes(primes));
  return is_integer ? gpu::Arithmetic::kU64 : gpu::Arithmetic::kFp64;
}

sim::Order order_of(std::string_view name) noexcept {
  if (name.ends_with("reversed")) return sim::Order::kReversed;
  return name.ends_with("shuffled") ? sim::Order::kShuffled : sim::Order::kForward;
}

}  // namespace

sim::Simulator& simulator_of(std::string_view name) { return sim::simulator(order_of(name), gpu::host_kernels()); }

bool simulated_backend_takes(std::string_view name, const std::vector<std::uint64_t>& primes) noexcept {
  return arithmetic_of(name, primes) == gpu::Arithmetic::kU64 || cpu_backend_takes(primes);
}

std::unique_ptr<Backend> make_simulated_backend(std::string_view name, std::uint32_t ring_degree,
                                                const std::vector<std::uint64_t>& primes, unsigned,
                                                const DeviceOptions& options) {
  if (!simulated_backend_takes(name, primes)) {
    throw Error(ErrorKind::kValue, "backend \"" + std::string(name) +
                                       "\" needs primes below 2^50; use \"sim\", which takes any below 2^60");
  }
  return make_gpu_backend(name, "sim", simulator_of(name).driver(), options, arithmetic_of(name, primes), ring_degree,
                          primes);
}

}  // namespace lw
