// The list of backends: one entry here adds one to the library and to the conformance suite.
#include <array>

#include "backend/cpu/backend.hpp"
#include "backend/device.hpp"
#include "backend/ref/backend.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Backend> (*make)(std::uint32_t, const std::vector<std::uint64_t>&, unsigned);
  bool (*runs_here)() noexcept;
  bool (*takes)(const std::vector<std::uint64_t>& primes) noexcept;
};

// From the most to the least wanted.
constexpr std::array kBackends = {
    Entry{"cpu", make_cpu_backend, cpu_backend_runs_here, cpu_backend_takes},
    Entry{"ref", make_ref_backend, []() noexcept { return true; },
          [](const std::vector<std::uint64_t>&) noexcept { return true; }},
};

}  // namespace

std::unique_ptr<Backend> make_backend(std::string_view name, std::uint32_t ring_degree,
                                      const std::vector<std::uint64_t>& primes, unsigned threads) {
  std::string known = "auto";
  for (const Entry& entry : kBackends) {
    const bool serves = entry.name == name || (name == "auto" && entry.runs_here() && entry.takes(primes));
    if (serves) return entry.make(ring_degree, primes, threads);
    known.append(", ").append(entry.name);
  }
  throw Error(ErrorKind::kValue, "backend \"" + std::string(name) + "\" is unknown; choose one of: " + known);
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kBackends) {
    if (entry.runs_here()) names.emplace_back(entry.name);
  }
  return names;
}

}  // namespace lw
