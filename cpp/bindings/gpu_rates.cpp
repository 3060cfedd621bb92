// The rates of a device's resources in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <map>
#include <string>

#include "backend/gpu/rates.hpp"
#include "bindings/bindings.hpp"
#include "bindings/ring_arrays.hpp"
#include "math/error.hpp"
#include "ring/ring.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

constexpr std::size_t kWordsInBlock = 1024;

void require_device(const Ring& ring) {
  require(
      !ring.backend().form().is_on_host(), ErrorKind::kValue,
      "the backend \"" + std::string(ring.backend().name()) + "\" has no device; use a ring on \"cuda\" or \"sim\"");
}

double rate_seconds(const Ring& ring, const std::string& name, std::size_t words, std::uint32_t rounds,
                    std::uint32_t launches, std::uint32_t replays) {
  static const std::map<std::string, gpu::Rate> rates = {{"copy", gpu::Rate::kCopy},
                                                         {"read", gpu::Rate::kRead},
                                                         {"fma", gpu::Rate::kFma},
                                                         {"multiply_add", gpu::Rate::kMultiplyAdd}};
  require_device(ring);
  require(rates.contains(name), ErrorKind::kValue, "no rate is called '" + name + "'");
  require(words != 0 && words % kWordsInBlock == 0 && words >> 38 == 0, ErrorKind::kValue,
          "words=" + std::to_string(words) + "; give a multiple of 1024 below 2^38");
  const nb::gil_scoped_release release;
  return gpu::rate_seconds(ring.device(), ring.queue(), {rates.at(name), words, rounds, launches, replays});
}

}  // namespace

void bind_gpu_rates(nb::module_& m) {
  m.def("rate_seconds", &rate_seconds, "ring"_a, "rate"_a, "words"_a, "rounds"_a = 1, "launches"_a = 1, "replays"_a = 0,
        "Seconds on the device of a ring, by its own clock, of so many launches: \"copy\" copies words, \"read\" reads "
        "them `rounds` times, \"fma\" and \"multiply_add\" carry out 8 * rounds operations in each of `words` threads. "
        "replays: all launches are one graph, replayed so often.");
}

}  // namespace lw
