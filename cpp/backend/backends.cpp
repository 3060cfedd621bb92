// The list of backends: one entry here adds one to the library and to the conformance suite.
#include <array>

#include "backend/cpu/backend.hpp"
#include "backend/device.hpp"
#include "backend/ref/backend.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

struct BackendEntry {
  std::string_view name;
  bool is_variant;  // of another backend, for tests and measurements
  std::unique_ptr<Backend> (*make)(std::string_view, std::uint32_t, const std::vector<std::uint64_t>&, unsigned);
  bool (*runs_here)(std::string_view) noexcept;
  bool (*takes)(const std::vector<std::uint64_t>& primes) noexcept;
};

// From the most to the least wanted.
constexpr std::array kBackends = {
    BackendEntry{"cpu", false, make_cpu_backend, cpu_backend_runs_here, cpu_backend_takes},
    BackendEntry{"cpu-avx512", true, make_cpu_backend, cpu_backend_runs_here, cpu_backend_takes},
    BackendEntry{"cpu-avx2", true, make_cpu_backend, cpu_backend_runs_here, cpu_backend_takes},
    BackendEntry{"ref", false,
                 [](std::string_view, std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes,
                    unsigned threads) { return make_ref_backend(ring_degree, primes, threads); },
                 [](std::string_view) noexcept { return true; },
                 [](const std::vector<std::uint64_t>&) noexcept { return true; }},
};

}  // namespace

std::unique_ptr<Backend> make_backend(std::string_view name, std::uint32_t ring_degree,
                                      const std::vector<std::uint64_t>& primes, unsigned threads) {
  std::string known = "auto";
  for (const BackendEntry& entry : kBackends) {
    const bool serves = entry.name == name || (name == "auto" && entry.runs_here(entry.name) && entry.takes(primes));
    if (serves) return entry.make(entry.name, ring_degree, primes, threads);
    if (!entry.is_variant) known.append(", ").append(entry.name);
  }
  throw Error(ErrorKind::kValue, "backend \"" + std::string(name) + "\" is unknown; choose one of: " + known);
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : kBackends) {
    if (!entry.is_variant && entry.runs_here(entry.name)) names.emplace_back(entry.name);
  }
  return names;
}

std::vector<std::pair<std::string, bool>> backend_variants() {
  std::vector<std::pair<std::string, bool>> variants;
  for (const BackendEntry& entry : kBackends) {
    if (entry.is_variant) variants.emplace_back(entry.name, entry.runs_here(entry.name));
  }
  return variants;
}

}  // namespace lw
