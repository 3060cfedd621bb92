// The functions of the driver that streams, events and graphs have.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "backend/sim/machine.hpp"
#include "backend/sim/text.hpp"

namespace lw::sim {
namespace {

void refuse_capturing(const LwStream& stream, const char* what) {
  if (stream.capture != nullptr) throw Refusal{LW_FAILED, text(what, " is not possible while a stream is captured")};
}

/// Throws unless an H100 would start it.
void check_launch(const LwLaunch& launch, std::span<const gpu::HostKernel> kernels) {
  const auto refuse = [](const auto&... why) { throw Refusal{LW_FAILED, text("launch of ", why...)}; };
  if (launch.kernel >= kernels.size()) refuse("kernel ", launch.kernel, ": there are ", kernels.size());
  const gpu::HostKernel& kernel = kernels[launch.kernel];
  if (launch.args_bytes != kernel.args_bytes) {
    refuse("'", kernel.name, "' with ", launch.args_bytes, " bytes of arguments: it takes ", kernel.args_bytes);
  }
  const std::uint32_t most = std::min({kernel.threads, kBlockThreads, kThreads / kernel.cluster});
  if (launch.threads == 0 || launch.threads > most) {
    refuse("'", kernel.name, "' with ", launch.threads, " threads of a block: it takes 1 to ", most);
  }
  const std::uint64_t x = launch.blocks[0], y = launch.blocks[1], z = launch.blocks[2];
  if (x == 0 || y == 0 || z == 0 || x >> 31 != 0 || y >> 16 != 0 || z >> 16 != 0 || x * y > UINT32_MAX / z) {
    refuse("'", kernel.name, "' with ", x, " x ", y, " x ", z, " blocks");
  }
  if (x % kernel.cluster != 0) {
    refuse("'", kernel.name, "' with ", x, " blocks in a row: its clusters are of ", kernel.cluster);
  }
  if (launch.shared_bytes > kSharedBytes || launch.shared_bytes % 8 != 0) {
    refuse("'", kernel.name, "' with ", launch.shared_bytes, " bytes of shared memory: it can be up to ", kSharedBytes,
           ", in words of 8");
  }
}

}  // namespace

LwStatus Machine::stream_make(std::int32_t number, LwStream** stream) noexcept {
  return call(at(number), When::kSound, [&](Gpu& device, Lock&) {
    std::uint32_t place = static_cast<std::uint32_t>(last_times_.size());
    if (free_numbers_.empty()) {
      last_times_.push_back(0);
    } else {
      place = free_numbers_.back();
      free_numbers_.pop_back();
    }
    auto made = std::make_unique<LwStream>(LwStream{&device, place, last_times_[place]});
    *stream = made.get();
    device.streams.emplace(*stream, std::move(made));
  });
}

LwStatus Machine::stream_free(LwStream* stream) noexcept {
  return call(stream->device, When::kAlways, [&](Gpu& device, Lock& lock) {
    hand_over_all(*stream);
    const Clock before = end_of(*stream);
    device.finish(lock);
    know(before);
    last_times_[stream->number] = stream->time;
    free_numbers_.push_back(stream->number);
    device.streams.erase(stream);
  });
}

LwStatus Machine::stream_wait(LwStream* stream) noexcept {
  return call(stream->device, When::kSound, [&](Gpu& device, Lock& lock) {
    refuse_capturing(*stream, "stream_wait");
    ++device.counters.host_waits;
    hand_over_all(*stream);
    const Clock before = end_of(*stream);
    device.finish(lock);
    know(before);
  });
}

LwStatus Machine::event_make(std::int32_t number, LwEvent** event) noexcept {
  return call(at(number), When::kSound, [&](Gpu& device, Lock&) {
    auto made = std::make_unique<LwEvent>(LwEvent{&device});
    *event = made.get();
    device.events.emplace(*event, std::move(made));
  });
}

LwStatus Machine::event_free(LwEvent* event) noexcept {
  return call(event->device, When::kAlways, [&](Gpu& device, Lock&) { device.events.erase(event); });
}

std::shared_ptr<Signal> Machine::record(LwStream& stream) {
  auto signal = std::make_shared<Signal>();
  signal->stream = &stream;
  Work work{Work::Kind::kRecord};
  work.signal = signal;
  submit(stream, std::move(work));
  return signal;
}

void Machine::await(LwStream& stream, const std::shared_ptr<Signal>& signal) {
  join(stream, signal->clock);
  Work work{Work::Kind::kAwait};
  work.signal = signal;
  submit(stream, std::move(work));
}

LwStatus Machine::event_record(LwEvent* event, LwStream* stream) noexcept {
  return call(stream->device, When::kSound, [&](Gpu& device, Lock&) {
    refuse_capturing(*stream, "event_record");
    if (event->device != &device) throw Refusal{LW_FAILED, "event_record on a stream of another device than the event"};
    event->signal = record(*stream);
  });
}

LwStatus Machine::event_order(LwStream* stream, LwEvent* event) noexcept {
  return call(stream->device, When::kSound, [&](Gpu&, Lock&) {
    refuse_capturing(*stream, "event_order");
    if (event->signal != nullptr) await(*stream, event->signal);
  });
}

/// Waits until the host knows that the signal was given.
void Machine::wait_for(const std::shared_ptr<Signal>& signal, Gpu& device, Lock& lock) {
  hand_over(*signal);
  device.finish(lock);
  know(signal->clock);
}

LwStatus Machine::event_wait(LwEvent* event) noexcept {
  return call(event->device, When::kSound, [&](Gpu& device, Lock& lock) {
    ++device.counters.host_waits;
    const std::shared_ptr<Signal> signal = event->signal;
    if (signal != nullptr) wait_for(signal, device, lock);
  });
}

LwStatus Machine::event_done(LwEvent* event, std::int32_t* done) noexcept {
  return call(event->device, When::kSound, [&](Gpu& device, Lock& lock) {
    const std::shared_ptr<Signal> signal = event->signal;
    if (signal != nullptr && !signal->handed_over && draw(4) != 0) {
      *done = 0;
      return;
    }
    if (signal != nullptr) wait_for(signal, device, lock);
    *done = 1;
  });
}

LwStatus Machine::event_elapsed(LwEvent* from, LwEvent* to, double* seconds) noexcept {
  return call(from->device, When::kSound, [&](Gpu&, Lock&) {
    for (const LwEvent* event : {from, to}) {
      if (event->signal == nullptr || !event->signal->done) {
        throw Refusal{LW_FAILED, "event_elapsed of an event that is not done"};
      }
    }
    *seconds = std::chrono::duration<double>(to->signal->when - from->signal->when).count();
  });
}

void Machine::submit_or_note(LwStream& stream, Work work) {
  if (stream.capture != nullptr) {
    stream.capture->works.push_back(std::move(work));
  } else {
    submit(stream, std::move(work));
  }
}

LwStatus Machine::mark(LwStream* stream, void* memory, std::uint64_t bytes, std::int32_t in_use) noexcept {
  return call(stream->device, When::kSound, [&](Gpu&, Lock&) {
    Work work{Work::Kind::kMark};
    work.to = memory;
    work.bytes = bytes;
    work.in_use = in_use != 0;
    if (bytes != 0) submit_or_note(*stream, std::move(work));
  });
}

void Machine::check_host(const void* memory, const char* what) const {
  for (const auto& device : devices_) {
    if (!device->addresses.contains(memory)) continue;
    throw Refusal{LW_FAILED, text(what, ": ", memory, " is memory of device ", device->number, ", not of the host")};
  }
}

LwStatus Machine::copy(LwStream* stream, Work::Kind kind, void* to, const void* from, std::uint64_t bytes) noexcept {
  return call(stream->device, When::kSound, [&](Gpu& device, Lock&) {
    if (kind == Work::Kind::kUpload) check_host(from, "upload");
    if (kind == Work::Kind::kDownload) check_host(to, "download");
    const auto a = reinterpret_cast<std::uintptr_t>(from), b = reinterpret_cast<std::uintptr_t>(to);
    if (a < b + bytes && b < a + bytes) throw Refusal{LW_FAILED, "copy between places that overlap"};
    if (device.copy_failures.applies()) throw Refusal{LW_FAILED, "a copy failed on demand"};
    Work work{kind};
    work.to = to;
    work.from = from;
    work.bytes = bytes;
    if (bytes != 0) submit_or_note(*stream, std::move(work));
  });
}

LwStatus Machine::launch(LwStream* stream, const LwLaunch& launch) noexcept {
  return call(stream->device, When::kSound, [&](Gpu& device, Lock&) {
    check_launch(launch, kernels_);
    if (device.launch_failures.applies()) throw Refusal{LW_FAILED, "a launch failed on demand"};
    Work work{Work::Kind::kLaunch};
    const auto* args = static_cast<const std::byte*>(launch.args);
    const auto& blocks = launch.blocks;
    work.launch = {&kernels_[launch.kernel],
                   {{blocks[0], blocks[1], blocks[2]}, launch.threads},
                   launch.shared_bytes,
                   {args, args + launch.args_bytes}};
    submit_or_note(*stream, std::move(work));
  });
}

LwStatus Machine::capture_begin(LwStream* stream) noexcept {
  return call(stream->device, When::kSound, [&](Gpu& device, Lock&) {
    refuse_capturing(*stream, "capture_begin");
    stream->capture = std::make_unique<LwGraph>(LwGraph{&device});
  });
}

LwStatus Machine::capture_end(LwStream* stream, LwGraph** graph) noexcept {
  return call(stream->device, When::kSound, [&](Gpu& device, Lock&) {
    if (stream->capture == nullptr) throw Refusal{LW_FAILED, "capture_end of a stream that is not captured"};
    *graph = stream->capture.get();
    device.graphs.emplace(*graph, std::move(stream->capture));
  });
}

LwStatus Machine::graph_replay(LwGraph* graph, LwStream* stream) noexcept {
  return call(stream->device, When::kSound, [&](Gpu& device, Lock&) {
    refuse_capturing(*stream, "graph_replay");
    if (graph->device != &device) throw Refusal{LW_FAILED, "graph_replay on a stream of another device"};
    if (device.launch_failures.applies()) throw Refusal{LW_FAILED, "a replay failed on demand"};
    if (graph->last != nullptr) await(*stream, graph->last);
    for (const Work& work : graph->works) submit(*stream, work);
    graph->last = record(*stream);
    ++device.counters.replays;
  });
}

LwStatus Machine::graph_free(LwGraph* graph) noexcept {
  return call(graph->device, When::kAlways, [&](Gpu& device, Lock&) { device.graphs.erase(graph); });
}

}  // namespace lw::sim
