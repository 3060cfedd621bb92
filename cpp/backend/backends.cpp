// The list of backends: one entry here adds one to the library and to the conformance suite.
#include <array>

#include "backend/device.hpp"
#include "backend/ref/backend.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

using Maker = std::unique_ptr<Backend> (*)(std::uint32_t, const std::vector<std::uint64_t>&, unsigned);

struct Entry {
  std::string_view name;
  Maker make;
};

constexpr std::array kBackends = {
    Entry{"ref", make_ref_backend},
};

}  // namespace

std::unique_ptr<Backend> make_backend(std::string_view name, std::uint32_t ring_degree,
                                      const std::vector<std::uint64_t>& primes, unsigned threads) {
  std::string known;
  for (const Entry& entry : kBackends) {
    if (entry.name == name) return entry.make(ring_degree, primes, threads);
    known.append(known.empty() ? "" : ", ").append(entry.name);
  }
  throw Error(ErrorKind::kValue, "backend \"" + std::string(name) + "\" is unknown; choose one of: " + known);
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kBackends) names.emplace_back(entry.name);
  return names;
}

}  // namespace lw
