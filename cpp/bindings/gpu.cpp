// GPU drivers in Python: loads one; and for tests, records the calls of a simulated device and makes it fail.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/card.hpp"
#include "backend/gpu/device_memory.hpp"
#include "backend/gpu/host_kernels.hpp"
#include "backend/gpu/plugin.hpp"
#include "backend/sim/simulator.hpp"
#include "backend/simulated.hpp"
#include "bindings/bindings.hpp"
#include "math/error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

/// A device behind a backend `sim` or a variant of it.
struct SimulatedDevice {
  sim::Simulator& simulator;
  std::int32_t number;

  nb::dict counters() const {
    const sim::Counters counters = simulator.counters(number);
    nb::dict launches, out;
    for (std::size_t i = 0; i < gpu::host_kernels().size(); ++i) {
      if (counters.launches[i] != 0) launches[gpu::host_kernels()[i].name] = counters.launches[i];
    }
    out["allocations"] = counters.allocations;
    out["bytes_up"] = counters.bytes_up;
    out["bytes_down"] = counters.bytes_down;
    out["host_waits"] = counters.host_waits;
    out["live_bytes"] = counters.live_bytes;
    out["pinned_bytes"] = counters.pinned_bytes;
    out["launches"] = launches;
    out["replays"] = counters.replays;
    return out;
  }
};

/// The driver of devices of a kind; nullptr: it is not loaded.
const LwDriver* driver_of(const std::string& kind) {
  return kind == "sim" ? &simulator_of(kind).driver() : gpu::current_driver(kind);
}

/// Waits for all work on a device, gives idle memory back if `trim`, and returns {bytes held, number of failures so
/// far} of all that compute on it.
std::pair<std::uint64_t, std::uint64_t> settle_device(const std::string& kind, std::int32_t number, bool trim) {
  const nb::gil_scoped_release released;
  std::pair<std::uint64_t, std::uint64_t> total;
  const LwDriver* const driver = driver_of(kind);
  if (driver == nullptr) return total;
  for (const std::shared_ptr<gpu::Card>& card : gpu::Card::all_of(*driver, number)) {
    card->wait_for_all();
    if (trim) card->drop_spares();
    if (trim) card->memory().trim();
    total.first += card->memory().use().held;
  }
  total.second = gpu::Card::failures_of(*driver, number);
  return total;
}

/// Throws the latest failure on a device, if there is one.
void check_device(const std::string& kind, std::int32_t number) {
  const LwDriver* const driver = driver_of(kind);
  if (driver != nullptr) gpu::Card::check_latest(*driver, number);
}

/// One dict for each device.
nb::list driver_devices(const std::string& kind) {
  const LwDriver* const driver = kind == "sim" ? driver_of(kind) : &gpu::loaded_driver(kind);
  const std::string none = kind == "sycl:cpu" ? "no device for SYCL: " : "no GPU: ";
  const auto check = [&](std::int32_t device, LwStatus status) {
    if (status != LW_OK) throw Error(ErrorKind::kDevice, none + driver->error_text(device, status));
  };
  std::int32_t count = 0;
  check(0, driver->count(&count));
  nb::list devices;
  for (std::int32_t i = 0; i < count; ++i) {
    LwDeviceInfo info{};
    check(i, driver->describe(i, &info));
    nb::dict found;
    found["name"] = std::string(info.name);
    found["total_bytes"] = info.total_bytes;
    found["free_bytes"] = info.free_bytes;
    found["l2_bytes"] = info.l2_bytes;
    found["compute"] = std::pair(info.compute_major, info.compute_minor);
    found["has_clusters"] = info.has_clusters != 0;
    found["has_fast_doubles"] = info.has_fast_doubles != 0;
    found["multiprocessors"] = info.multiprocessors;
    devices.append(found);
  }
  return devices;
}

}  // namespace

void bind_gpu(nb::module_& m) {
  m.def(
      "load_driver",
      [](const std::string& path, const std::string& kind) {
        const nb::gil_scoped_release released;
        gpu::load_driver(path, kind);
      },
      "path"_a, "kind"_a,
      "Load the driver of a kind of devices (\"cuda\", \"sycl:cpu\", \"sycl:gpu\") from a library; the kind is a "
      "backend from then on.");
  m.def("settle_device", &settle_device, "kind"_a, "number"_a, "trim"_a = false,
        "Wait for all work on a device; (bytes held of its memory, after giving idle ones back if `trim`; how many "
        "failures there ever were on it).");
  m.def("check_device", &check_device, "kind"_a, "number"_a, "Throw the latest failure on a device, if there is one.");
  m.def("driver_devices", &driver_devices, "kind"_a,
        "What the devices of a kind say of themselves. Throws DeviceError where there are none "
        "that can be used, with the reason.");
  m.def("gpu_kernel_names", [] {
    std::vector<std::string> names;
    for (const gpu::HostKernel& kernel : gpu::host_kernels()) names.emplace_back(kernel.name);
    return names;
  });
  m.def("gpu_kernel_args_bytes", [] {
    std::vector<std::uint32_t> bytes;
    for (const gpu::HostKernel& kernel : gpu::host_kernels()) bytes.push_back(kernel.args_bytes);
    return bytes;
  });
  nb::class_<SimulatedDevice>(m, "SimulatedDevice",
                              "A device behind a backend \"sim\", for tests; all rings on it share it.")
      .def(
          "__init__",
          [](SimulatedDevice* self, const std::string& backend, std::int32_t number) {
            new (self) SimulatedDevice{simulator_of(backend), number};
          },
          "backend"_a, "number"_a = 0)
      .def("counters", &SimulatedDevice::counters, "What it was asked for since the last reset_counters.")
      .def("reset_counters", [](SimulatedDevice& self) { self.simulator.reset_counters(self.number); })
      .def(
          "fail_allocations",
          [](SimulatedDevice& self, std::uint64_t first, std::uint64_t count) {
            self.simulator.fail_allocations(self.number, first, count);
          },
          "first"_a, "count"_a,
          "Let `count` allocations fail, beginning with the `first`-th from now on; first=0: none.")
      .def(
          "fail_launches",
          [](SimulatedDevice& self, std::uint64_t first, std::uint64_t count) {
            self.simulator.fail_launches(self.number, first, count);
          },
          "first"_a, "count"_a, "The same of kernels.")
      .def(
          "fail_copies",
          [](SimulatedDevice& self, std::uint64_t first, std::uint64_t count) {
            self.simulator.fail_copies(self.number, first, count);
          },
          "first"_a, "count"_a, "The same of copies, whatever their direction.")
      .def(
          "lose", [](SimulatedDevice& self, std::uint64_t nth) { self.simulator.lose(self.number, nth); }, "nth"_a = 1,
          "Lose it, with the nth call from now on; nth=0: no call loses it.")
      .def(
          "forget_failure", [](SimulatedDevice& self) { self.simulator.forget_failure(self.number); },
          nb::call_guard<nb::gil_scoped_release>(), "Forget that it failed or was lost: it is as it was before.");
}

}  // namespace lw
