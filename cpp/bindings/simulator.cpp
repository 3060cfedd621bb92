// Simulated GPUs with the planted kernels, for tests of the simulator: addresses, streams, events and graphs are
// numbers.
#include "backend/sim/simulator.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/planted_kernels.hpp"
#include "math/error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using Handle = std::uint64_t;
using HostSource = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using HostTarget = nb::ndarray<nb::c_contig, nb::device::cpu>;

template <class T>
T* pointer(Handle handle) {
  return reinterpret_cast<T*>(handle);
}

sim::Order order_of(const std::string& name) {
  if (name == "forward") return sim::Order::kForward;
  if (name == "reversed") return sim::Order::kReversed;
  if (name == "shuffled") return sim::Order::kShuffled;
  throw Error(ErrorKind::kValue, "order is \"forward\", \"reversed\" or \"shuffled\", not \"" + name + "\"");
}

/// A simulator whose calls throw where the driver's give a status. The calls run without the GIL.
class PlantedSimulator {
 public:
  PlantedSimulator(const std::string& order, std::uint64_t seed, std::uint64_t memory_bytes)
      : simulator_(
            std::make_unique<sim::Simulator>(planted::All::kAll, sim::Options{order_of(order), seed, memory_bytes})) {}

  void close() noexcept { simulator_.reset(); }
  sim::Simulator& simulator() const {
    if (simulator_ == nullptr) throw Error(ErrorKind::kValue, "the simulator is closed");
    return *simulator_;
  }
  const LwDriver& driver() const { return simulator().driver(); }

  template <class... Parameters, class... Given>
  void call(std::int32_t device, LwStatus (*function)(Parameters...), Given... given) const {
    LwStatus status = LW_OK;
    {
      const nb::gil_scoped_release released;
      status = function(given...);
    }
    if (status == LW_OK) return;
    const std::string text = driver().error_text(device, status);
    if (status == LW_OUT_OF_MEMORY) throw Error(ErrorKind::kOutOfMemory, text);
    throw std::runtime_error(text);
  }

  /// Calls a driver function on an object of a device, whose number the messages need.
  template <auto LwDriver::* function, class... Given>
  void on(std::int32_t device, Given... given) const {
    call(device, driver().*function, given...);
  }

  template <auto LwDriver::* function, class Made, class... Given>
  Handle made(std::int32_t device, Given... given) const {
    Made* thing = nullptr;
    call(device, driver().*function, given..., &thing);
    return reinterpret_cast<Handle>(thing);
  }

  void launch(std::int32_t device, Handle stream, const std::string& kernel, const std::vector<std::uint64_t>& args,
              const std::array<std::uint32_t, 3>& blocks, std::uint32_t threads, std::uint32_t shared_bytes) const {
    const auto names = std::span(driver().kernel_names, driver().num_kernels);
    const auto found = std::find_if(names.begin(), names.end(), [&](const char* name) { return name == kernel; });
    const LwLaunch launch = {static_cast<std::uint32_t>(found - names.begin()),
                             {blocks[0], blocks[1], blocks[2]},
                             threads,
                             shared_bytes,
                             args.data(),
                             static_cast<std::uint32_t>(8 * args.size())};
    call(device, driver().launch, pointer<LwStream>(stream), &launch);
  }

  nb::dict describe(std::int32_t device) const {
    LwDeviceInfo info;
    call(device, driver().describe, device, &info);
    nb::dict out;
    out["name"] = info.name;
    out["total_bytes"] = info.total_bytes;
    out["free_bytes"] = info.free_bytes;
    out["shared_bytes"] = info.shared_bytes;
    return out;
  }

  bool is_done(std::int32_t device, Handle event) const {
    std::int32_t done = 0;
    call(device, driver().event_done, pointer<LwEvent>(event), &done);
    return done != 0;
  }

  double elapsed(std::int32_t device, Handle from, Handle to) const {
    double seconds = 0;
    call(device, driver().event_elapsed, pointer<LwEvent>(from), pointer<LwEvent>(to), &seconds);
    return seconds;
  }

  nb::dict counters(std::int32_t device) const {
    const sim::Counters counters = simulator().counters(device);
    nb::dict launches, out;
    for (std::uint32_t i = 0; i < driver().num_kernels; ++i) {
      if (counters.launches[i] != 0) launches[driver().kernel_names[i]] = counters.launches[i];
    }
    out["allocations"] = counters.allocations;
    out["frees"] = counters.frees;
    out["bytes_up"] = counters.bytes_up;
    out["bytes_down"] = counters.bytes_down;
    out["host_waits"] = counters.host_waits;
    out["replays"] = counters.replays;
    out["launches"] = launches;
    return out;
  }

 private:
  std::unique_ptr<sim::Simulator> simulator_;
};

using P = PlantedSimulator;

void bind_memory(nb::class_<P>& c) {
  c.def(
       "memory_get",
       [](const P& p, int device, std::uint64_t bytes) {
         return p.made<&LwDriver::memory_get, void>(device, device, bytes);
       },
       "device"_a, "bytes"_a)
      .def(
          "memory_free",
          [](const P& p, int device, Handle memory) {
            p.on<&LwDriver::memory_free>(device, device, pointer<void>(memory));
          },
          "device"_a, "memory"_a)
      .def(
          "pinned_get",
          [](const P& p, int device, std::uint64_t bytes) {
            return p.made<&LwDriver::pinned_get, void>(device, device, bytes);
          },
          "device"_a, "bytes"_a)
      .def(
          "pinned_free",
          [](const P& p, int device, Handle memory) {
            p.on<&LwDriver::pinned_free>(device, device, pointer<void>(memory));
          },
          "device"_a, "memory"_a)
      .def(
          "mark",
          [](const P& p, int device, Handle stream, Handle memory, std::uint64_t bytes, bool in_use) {
            p.on<&LwDriver::mark>(device, pointer<LwStream>(stream), pointer<void>(memory), bytes,
                                  std::int32_t{in_use});
          },
          "device"_a, "stream"_a, "memory"_a, "bytes"_a, "in_use"_a)
      .def(
          "upload",
          [](const P& p, int device, Handle stream, Handle to, const HostSource& from) {
            p.on<&LwDriver::upload>(device, pointer<LwStream>(stream), pointer<void>(to), from.data(), from.nbytes());
          },
          "device"_a, "stream"_a, "to"_a, "source"_a, "Of a whole array, which is to stay until the copy is done.")
      .def(
          "download",
          [](const P& p, int device, Handle stream, const HostTarget& to, Handle from) {
            p.on<&LwDriver::download>(device, pointer<LwStream>(stream), to.data(), pointer<void>(from), to.nbytes());
          },
          "device"_a, "stream"_a, "to"_a, "source"_a, "The same to an array.")
      .def(
          "copy",
          [](const P& p, int device, Handle stream, Handle to, Handle from, std::uint64_t bytes) {
            p.on<&LwDriver::copy>(device, pointer<LwStream>(stream), pointer<void>(to), pointer<void>(from), bytes);
          },
          "device"_a, "stream"_a, "to"_a, "source"_a, "bytes"_a);
}

/// A function of a handle, which gives nothing.
template <auto LwDriver::* function, class T>
void bind_plain(nb::class_<P>& c, const char* name) {
  c.def(
      name, [](const P& p, int device, Handle handle) { p.on<function>(device, pointer<T>(handle)); }, "device"_a,
      "handle"_a);
}

void bind_streams(nb::class_<P>& c) {
  c.def(
       "stream_make", [](const P& p, int device) { return p.made<&LwDriver::stream_make, LwStream>(device, device); },
       "device"_a)
      .def(
          "event_make", [](const P& p, int device) { return p.made<&LwDriver::event_make, LwEvent>(device, device); },
          "device"_a)
      .def(
          "event_record",
          [](const P& p, int device, Handle event, Handle stream) {
            p.on<&LwDriver::event_record>(device, pointer<LwEvent>(event), pointer<LwStream>(stream));
          },
          "device"_a, "event"_a, "stream"_a)
      .def(
          "event_order",
          [](const P& p, int device, Handle stream, Handle event) {
            p.on<&LwDriver::event_order>(device, pointer<LwStream>(stream), pointer<LwEvent>(event));
          },
          "device"_a, "stream"_a, "event"_a)
      .def("event_done", &P::is_done, "device"_a, "event"_a)
      .def("event_elapsed", &P::elapsed, "device"_a, "start"_a, "end"_a)
      .def("launch", &P::launch, "device"_a, "stream"_a, "kernel"_a, "args"_a, "blocks"_a, "threads"_a,
           "shared_bytes"_a = 0, "args: words.")
      .def(
          "capture_end",
          [](const P& p, int device, Handle stream) {
            return p.made<&LwDriver::capture_end, LwGraph>(device, pointer<LwStream>(stream));
          },
          "device"_a, "stream"_a)
      .def(
          "graph_replay",
          [](const P& p, int device, Handle graph, Handle stream) {
            p.on<&LwDriver::graph_replay>(device, pointer<LwGraph>(graph), pointer<LwStream>(stream));
          },
          "device"_a, "graph"_a, "stream"_a);
  bind_plain<&LwDriver::stream_free, LwStream>(c, "stream_free");
  bind_plain<&LwDriver::stream_wait, LwStream>(c, "stream_wait");
  bind_plain<&LwDriver::event_free, LwEvent>(c, "event_free");
  bind_plain<&LwDriver::event_wait, LwEvent>(c, "event_wait");
  bind_plain<&LwDriver::capture_begin, LwStream>(c, "capture_begin");
  bind_plain<&LwDriver::graph_free, LwGraph>(c, "graph_free");
}

}  // namespace

void bind_simulator(nb::module_& m) {
  nb::class_<P> c(m, "Simulator",
                  "Two simulated GPUs with kernels planted for tests. Functions are those of the driver; a status that "
                  "is not OK is a MemoryError, or a RuntimeError with the device's text.");
  c.def(nb::init<const std::string&, std::uint64_t, std::uint64_t>(), "order"_a = "forward", "seed"_a = 1,
        "memory_bytes"_a = std::uint64_t{1} << 28);
  bind_memory(c);
  bind_streams(c);
  c.def("close", &P::close, "Drops what is pending. There can be few simulators at a time.")
      .def("describe", &P::describe, "device"_a)
      .def("counters", &P::counters, "device"_a)
      .def(
          "reset_counters", [](P& p, int device) { p.simulator().reset_counters(device); }, "device"_a)
      .def(
          "fail_allocations",
          [](P& p, int device, std::uint64_t first, std::uint64_t count) {
            p.simulator().fail_allocations(device, first, count);
          },
          "device"_a, "first"_a, "count"_a)
      .def(
          "fail_launches",
          [](P& p, int device, std::uint64_t first, std::uint64_t count) {
            p.simulator().fail_launches(device, first, count);
          },
          "device"_a, "first"_a, "count"_a)
      .def(
          "lose", [](P& p, int device, std::uint64_t nth) { p.simulator().lose(device, nth); }, "device"_a, "nth"_a = 1)
      .def("forget_failure", [](P& p, int device) { p.simulator().forget_failure(device); }, "device"_a);
}

}  // namespace lw
