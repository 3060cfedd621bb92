#include "backend/gpu/rates.hpp"

#include <optional>

#include "backend/gpu/device_memory.hpp"
#include "backend/gpu/launch.hpp"

namespace lw::gpu {
namespace {

Grid grid_of(std::size_t threads) noexcept { return limb_grid(threads, 1, 1); }

/// Launches the arithmetic loop of Op on `threads` threads; also a way to fill memory that other kernels read.
template <class Op>
void compute(GpuQueue& queue, Word* out, std::size_t threads, std::uint32_t rounds) noexcept {
  queue.launch<ComputeRate<Op>>({out, Op::kFactor, rounds}, grid_of(threads));
}

void launch(GpuQueue& queue, const RateWork& work, Word* out, const Word* x) noexcept {
  const Grid grid = grid_of(work.words / kRateWords);
  switch (work.rate) {
    case Rate::kCopy:
      return queue.launch<CopyRate>({out, x}, grid);
    case Rate::kRead:
      return queue.launch<ReadRate>({out, x, work.rounds, grid.blocks[0]}, grid);
    case Rate::kFma:
      return compute<FmaOp>(queue, out, work.words, work.rounds);
    case Rate::kMultiplyAdd:
      return compute<WideMultiplyAddOp>(queue, out, work.words, work.rounds);
  }
}

/// A moment in a queue's work.
class Moment {
 public:
  explicit Moment(GpuQueue& queue) noexcept : queue_(queue) {
    Card& card = queue.card();
    card.note(card.driver().event_make(card.device(), &event_), "an event");
    if (!card.has_failed()) card.record(event_, queue.number());
  }
  ~Moment() {
    if (event_ != nullptr) queue_.card().driver().event_free(event_);
  }
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;

  /// Seconds between two moments, both of which are over.
  double seconds_since(const Moment& before) const noexcept {
    double seconds = 0;
    Card& card = queue_.card();
    if (!card.has_failed()) card.note(card.driver().event_elapsed(before.event_, event_, &seconds), "an event");
    return seconds;
  }

 private:
  GpuQueue& queue_;
  LwEvent* event_ = nullptr;
};

/// Launches as one graph.
class Captured {
 public:
  Captured(GpuQueue& queue, const RateWork& work, Word* out, const Word* x) noexcept : queue_(queue) {
    Card& card = queue.card();
    if (!card.call(queue.number(), kWhat, card.driver().capture_begin)) return;
    for (std::uint32_t i = 0; i < work.launches; ++i) launch(queue, work, out, x);
    card.call(queue.number(), kWhat, card.driver().capture_end, &graph_);
  }
  ~Captured() {
    if (graph_ != nullptr) queue_.card().driver().graph_free(graph_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  void replay() noexcept {
    constexpr auto on_stream =
        +[](LwStream* stream, const LwDriver* driver, LwGraph* graph) { return driver->graph_replay(graph, stream); };
    if (graph_ != nullptr) queue_.card().call(queue_.number(), kWhat, on_stream, &queue_.card().driver(), graph_);
  }

 private:
  static constexpr char kWhat[] = "a graph";
  GpuQueue& queue_;
  LwGraph* graph_ = nullptr;
};

}  // namespace

double rate_seconds(Device& device, Queue& any, const RateWork& work) {
  GpuQueue& queue = gpu_queue(any);
  Buffer out = device.allocate(work.words * sizeof(Word)), x = device.allocate(work.words * sizeof(Word));
  Word* const to = out.to_write();
  compute<FmaOp>(queue, x.to_write(), work.words, 0);
  const Word* const from = x.to_read();
  launch(queue, work, to, from);
  std::optional<Captured> graph;
  if (work.replays != 0) graph.emplace(queue, work, to, from).replay();
  const Moment begin(queue);
  if (graph.has_value()) {
    for (std::uint32_t i = 0; i < work.replays; ++i) graph->replay();
  } else {
    for (std::uint32_t i = 0; i < work.launches; ++i) launch(queue, work, to, from);
  }
  const Moment end(queue);
  device.synchronise(queue);
  const double seconds = end.seconds_since(begin);
  device.check(queue);
  return seconds;
}

}  // namespace lw::gpu
