// Profiles of devices, and the names of what is done meanwhile.
#include "backend/profile.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <memory>
#include <string>

#include "backend/gpu/card.hpp"
#include "backend/gpu/plugin.hpp"
#include "backend/sim/simulator.hpp"
#include "backend/simulated.hpp"
#include "bindings/bindings.hpp"
#include "math/error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

/// A device as profiles name it: "cpu", or a kind with a driver and a number.
class ProfiledDevice {
 public:
  ProfiledDevice(const std::string& kind, std::int32_t number)
      : driver_(kind == "cpu"   ? nullptr
                : kind == "sim" ? &simulator_of(kind).driver()
                                : &gpu::loaded_driver(kind)),
        number_(number),
        profiler_(kind == "cpu" ? host_profiler() : gpu::Card::profiler_of(*driver_, number)) {}

  std::shared_ptr<Profile> start(std::size_t most_events) { return profiler_.start(most_events); }
  void stop() noexcept { profiler_.stop(); }
  void settle() const {
    if (driver_ == nullptr) return;
    for (const std::shared_ptr<gpu::Card>& card : gpu::Card::all_of(*driver_, number_)) card->times().settle();
  }

 private:
  const LwDriver* const driver_;
  const std::int32_t number_;
  Profiler& profiler_;
};

nb::object time_or_none(double seconds) { return std::isnan(seconds) ? nb::none() : nb::cast(seconds); }

nb::dict sums_of(const Profile& profile) {
  const Profile::Sums sums = profile.sums();
  nb::list kernels;
  for (const auto& [names, sum] : sums.kernels) {
    const auto& [operation, step, kernel] = names;
    const auto timed = [&](double seconds) { return time_or_none(sum.timed == 0 ? kNoTime : seconds); };
    kernels.append(nb::make_tuple(operation, step, kernel, sum.calls, sum.bytes, sum.timed, timed(sum.seconds),
                                  timed(sum.least), timed(sum.most)));
  }
  nb::dict times, out;
  for (const auto& [operation, count] : sums.times) times[nb::cast(operation)] = count;
  out["kernels"] = kernels;
  out["times"] = times;
  out["left_out"] = sums.left_out;
  return out;
}

nb::list events_of(const Profile& profile) {
  const std::vector<Profile::Event> events = profile.events();
  nb::list names, found;
  for (const std::string& name : profile.names()) names.append(nb::cast(name));
  for (const Profile::Event& event : events) {
    found.append(nb::make_tuple(names[event.operation], names[event.step], names[event.kernel], event.lane, event.order,
                                event.bytes, event.operation_number, event.step_number, time_or_none(event.start),
                                time_or_none(event.seconds)));
  }
  return found;
}

}  // namespace

void bind_profile(nb::module_& m) {
  nb::class_<Profile>(m, "Profile", "What was done on a device while it was profiled.")
      .def("clear", &Profile::clear)
      .def("sums", &sums_of,
           "Tuples (operation, step, kernel, calls, bytes, of them timed, seconds, least, most) as \"kernels\"; how "
           "often each operation began as \"times\"; calls that no event is kept of as \"left_out\".")
      .def("events", &events_of,
           "Tuples (operation, step, kernel, lane, order, bytes, numbers of operation and step, start, seconds), in "
           "the order "
           "in which they were done.");
  nb::class_<ProfiledDevice>(m, "ProfiledDevice")
      .def(nb::init<const std::string&, std::int32_t>(), "kind"_a, "number"_a)
      .def("start", &ProfiledDevice::start, "most_events"_a, "ValueError where it is being profiled.")
      .def("stop", &ProfiledDevice::stop)
      .def("settle", &ProfiledDevice::settle, nb::call_guard<nb::gil_scoped_release>(),
           "Wait for what was timed so far, so that it is in the profile.");
  nb::class_<OperationScope>(m, "OperationScope", "What this thread does, from its making to its end.")
      .def(
          "__init__",
          [](OperationScope* self, const std::string& name, bool is_named) {
            new (self) OperationScope(is_named ? OperationKind::kNamed : OperationKind::kCall, name);
          },
          "name"_a, "is_named"_a)
      .def("end", &OperationScope::end);
}

}  // namespace lw
