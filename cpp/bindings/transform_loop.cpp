// Many transforms at a time on limbs that stay on the device, from one queue or several: what `bench xehe` times.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/ring_arrays.hpp"
#include "math/error.hpp"
#include "ring/ring.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

constexpr std::array<std::uint8_t, 32> kSeed = {};

class TransformLoop {
 public:
  /// `polys` polynomials over `limbs`, shared out to the queues.
  TransformLoop(const Ring& ring, const LimbList& limbs, std::uint32_t polys, std::uint32_t queues) : ring_(ring) {
    require(!limbs.empty() && queues != 0 && polys % queues == 0 && polys != 0, ErrorKind::kValue,
            "give at least one limb, and as many polynomials for each queue");
    for (const std::uint16_t limb : limbs) {
      require(limb < ring.num_limbs(), ErrorKind::kValue, "limb number " + std::to_string(limb) + " does not exist");
    }
    for (std::uint32_t i = 0; i < queues; ++i) {
      RnsPolys& x = shares_.emplace_back(ring, limbs, polys / queues);
      ring.kernels().zero(ring.queue(), x.view());
      for (std::uint32_t poly = 0; poly < x.polys(); ++poly) {
        ring.kernels().expand_uniform(ring.queue(), x.view(poly, 1, 0, limbs.size()), {kSeed, 0, poly, 0});
      }
    }
    ring.device().synchronise(ring.queue());
  }

  TransformLoop(const TransformLoop&) = delete;
  TransformLoop& operator=(const TransformLoop&) = delete;

  void run(std::uint64_t times, bool is_inverse) {
    const nb::gil_scoped_release released;
    run_from(0, times, is_inverse);
  }

 private:
  /// Share i and those after it, each on a queue of its own, all under way before the first is waited for.
  void run_from(std::size_t i, std::uint64_t times, bool is_inverse) {
    if (i == shares_.size()) return;
    const QueueScope scope;
    const auto transform = is_inverse ? ring_.kernels().intt : ring_.kernels().ntt;
    const LimbView residues = shares_[i].view();
    for (std::uint64_t time = 0; time < times; ++time) transform(ring_.queue(), residues, residues);
    run_from(i + 1, times, is_inverse);
    ring_.device().synchronise(ring_.queue());
  }

  const Ring& ring_;
  std::vector<RnsPolys> shares_;
};

}  // namespace

void bind_transform_loops(nb::module_& m) {
  nb::class_<TransformLoop>(m, "TransformLoop",
                            "In-place transforms of random polynomials, all in one call of the kernel for each queue.")
      .def(nb::init<const Ring&, const LimbList&, std::uint32_t, std::uint32_t>(), "ring"_a, "limbs"_a, "polys"_a = 1,
           "queues"_a = 1, nb::keep_alive<1, 2>())
      .def("run", &TransformLoop::run, "times"_a = 1, "is_inverse"_a = false,
           "Transform all so many times; returns when all queues are done.");
}

}  // namespace lw
