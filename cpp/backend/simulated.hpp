// The backend `sim`: the GPU code on a simulated device.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/device.hpp"

namespace lw {

namespace sim {
class Simulator;
}

/// name: "sim", or "sim-" with an arithmetic (fp64, u64) and an order of blocks and threads (forward, reversed,
/// shuffled), a literal. "sim" takes fp64 where the primes allow it. The number of threads means nothing to it.
std::unique_ptr<Backend> make_simulated_backend(std::string_view name, std::uint32_t ring_degree,
                                                const std::vector<std::uint64_t>& primes, unsigned threads,
                                                const DeviceOptions& options);
/// The simulated devices behind it.
sim::Simulator& simulator_of(std::string_view name);
bool simulated_backend_takes(std::string_view name, const std::vector<std::uint64_t>& primes) noexcept;

}  // namespace lw
