// A stream of the driver: a queue of SYCL, in order, with memory for the arguments of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <sycl/sycl.hpp>
#include <vector>

#include "machine.hpp"

namespace lw::gpu {

/// A kernel or a copy, as it is submitted.
struct Submission {
  const sycl::kernel* kernel;  // nullptr: a copy
  sycl::nd_range<3> range;
  std::size_t shared_words;
  void* to;
  const void* from;   // of a copy, or the kernel's arguments
  std::size_t bytes;  // of them
};

sycl::event submit(sycl::queue& queue, const Submission& submission);

using SyclGraph =
    sycl::ext::oneapi::experimental::command_graph<sycl::ext::oneapi::experimental::graph_state::executable>;

/// Memory for the arguments of kernels that are under way, used round and round.
class ArgumentRing {
 public:
  ArgumentRing(const SyclDevice& device, sycl::queue& queue);
  ~ArgumentRing();
  ArgumentRing(const ArgumentRing&) = delete;
  ArgumentRing& operator=(const ArgumentRing&) = delete;

  /// Copies arguments to where the kernel that is submitted next reads them; waits where that is in use.
  const void* put(const void* args, std::size_t bytes);
  /// Says that this was the kernel.
  void used_by(const sycl::event& event) { last_[at_ / kPart] = event; }

 private:
  static constexpr std::size_t kParts = 4, kPart = std::size_t{1} << 18;

  const sycl::context context_;
  sycl::queue& queue_;
  std::byte* host_ = nullptr;
  std::byte* device_ = nullptr;   // the same as host_ where the device is the processor
  std::size_t at_ = 0, end_ = 0;  // of the latest arguments
  sycl::event last_[kParts];      // kernel that reads from each part
};

}  // namespace lw::gpu

/// What was called while it was captured: a graph of SYCL where the device has them, else submitted again for each
/// replay.
struct LwGraph {
  explicit LwGraph(lw::gpu::SyclDevice& device) : device(device) {}
  ~LwGraph();

  /// Takes a copy, or a kernel whose arguments are noted.
  void add(const lw::gpu::Submission& submission);
  /// Brings all arguments to memory that the kernels read, and makes the graph.
  void end();
  void replay(sycl::queue& queue);

  void place_args(sycl::queue& queue);

  lw::gpu::SyclDevice& device;
  std::vector<lw::gpu::Submission> submissions;  // those of kernels have their arguments in `args` until the end
  std::vector<std::byte> args;
  std::byte* memory = nullptr;  // of the arguments, after the end
  std::optional<lw::gpu::SyclGraph> whole;
};

struct LwStream {
  explicit LwStream(lw::gpu::SyclDevice& device);

  /// Carries it out, or notes it where the stream is captured.
  void take(const lw::gpu::Submission& submission);
  /// Waits for all; throws what the runtime said went wrong meanwhile.
  void wait();

  lw::gpu::SyclDevice& device;
  sycl::queue queue;
  lw::gpu::ArgumentRing ring;
  std::mutex mutex;                   // of submissions
  std::unique_ptr<LwGraph> captured;  // nullptr: nothing is
};
