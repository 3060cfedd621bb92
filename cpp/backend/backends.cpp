// The list of backends: one entry here adds one to the library and to the conformance suite.
#include <array>

#include "backend/cpu/backend.hpp"
#include "backend/device.hpp"
#include "backend/driven.hpp"
#include "backend/ref/backend.hpp"
#include "backend/simulated.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

struct BackendEntry {
  std::string_view name;
  std::string_view variant_of;  // another backend, for tests and measurements; or empty
  bool is_chosen;               // by "auto", where it runs and takes the primes
  std::unique_ptr<Backend> (*make)(std::string_view, std::uint32_t, const std::vector<std::uint64_t>&, unsigned,
                                   const DeviceOptions&);
  bool (*runs_here)(std::string_view) noexcept;
  bool (*takes)(std::string_view, const std::vector<std::uint64_t>& primes) noexcept;
};

constexpr BackendEntry cpu(std::string_view name, std::string_view variant_of) {
  return {
      name,
      variant_of,
      true,
      [](std::string_view own, std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads,
         const DeviceOptions&) { return make_cpu_backend(own, ring_degree, primes, threads); },
      cpu_backend_runs_here,
      [](std::string_view, const std::vector<std::uint64_t>& primes) noexcept { return cpu_backend_takes(primes); }};
}

constexpr BackendEntry ref() {
  return {"ref",
          "",
          true,
          [](std::string_view, std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads,
             const DeviceOptions&) { return make_ref_backend(ring_degree, primes, threads); },
          [](std::string_view) noexcept { return true; },
          [](std::string_view, const std::vector<std::uint64_t>&) noexcept { return true; }};
}

constexpr BackendEntry simulated(std::string_view name, std::string_view variant_of) {
  return {name,
          variant_of,
          false,
          make_simulated_backend,
          [](std::string_view) noexcept { return true; },
          simulated_backend_takes};
}

constexpr BackendEntry driven(std::string_view name, std::string_view variant_of) {
  return {name, variant_of, false, make_driven_backend, driven_backend_runs_here, driven_backend_takes};
}

// From the most to the least wanted.
constexpr std::array kBackends = {
    cpu("cpu", ""),
    cpu("cpu-avx512", "cpu"),
    cpu("cpu-avx2", "cpu"),
    cpu("cpu-neon", "cpu"),
    ref(),
    driven("cuda", ""),
    driven("cuda-fp64", "cuda"),
    driven("cuda-u64", "cuda"),
    driven("sycl:gpu", ""),
    driven("sycl:gpu-fp64", "sycl:gpu"),
    driven("sycl:gpu-u64", "sycl:gpu"),
    driven("sycl:cpu", ""),
    driven("sycl:cpu-fp64", "sycl:cpu"),
    driven("sycl:cpu-u64", "sycl:cpu"),
    simulated("sim", ""),
    simulated("sim-fp64-forward", "sim"),
    simulated("sim-fp64-reversed", "sim"),
    simulated("sim-fp64-shuffled", "sim"),
    simulated("sim-u64-forward", "sim"),
    simulated("sim-u64-reversed", "sim"),
    simulated("sim-u64-shuffled", "sim"),
};

}  // namespace

std::unique_ptr<Backend> make_backend(std::string_view name, std::uint32_t ring_degree,
                                      const std::vector<std::uint64_t>& primes, unsigned threads,
                                      const DeviceOptions& options) {
  std::string known = "auto";
  for (const BackendEntry& entry : kBackends) {
    const bool is_best =
        name == "auto" && entry.is_chosen && entry.runs_here(entry.name) && entry.takes(entry.name, primes);
    if (entry.name == name || is_best) return entry.make(entry.name, ring_degree, primes, threads, options);
    if (entry.variant_of.empty()) known.append(", ").append(entry.name);
  }
  throw Error(ErrorKind::kValue, "backend \"" + std::string(name) + "\" is unknown; choose one of: " + known);
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : kBackends) {
    if (entry.variant_of.empty() && entry.runs_here(entry.name)) names.emplace_back(entry.name);
  }
  return names;
}

std::vector<std::pair<std::string, bool>> backend_variants(std::string_view of) {
  std::vector<std::pair<std::string, bool>> variants;
  for (const BackendEntry& entry : kBackends) {
    if (entry.variant_of == of && !of.empty()) variants.emplace_back(entry.name, entry.runs_here(entry.name));
  }
  return variants;
}

}  // namespace lw
