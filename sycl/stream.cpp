#include "stream.hpp"

#include <cstring>
#include <new>

namespace lw::gpu {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::byte* known(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

/// Notes what went wrong in what was submitted before, for who waits.
sycl::async_handler noting(SyclDevice& device) {
  return [&device](const sycl::exception_list& errors) {
    for (const std::exception_ptr& error : errors) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& found) {
        const std::lock_guard lock(device.mutex);
        if (device.failure.empty()) device.failure = found.what();
      }
    }
  };
}

}  // namespace

sycl::event submit(sycl::queue& queue, const Submission& s) {
  if (s.kernel == nullptr) return queue.memcpy(s.to, s.from, s.bytes);
  return queue.submit([&](sycl::handler& handler) {
    sycl::ext::oneapi::experimental::work_group_memory<std::uint64_t[]> words(s.shared_words, handler);
    handler.set_arg(0, const_cast<void*>(s.from));
    handler.set_arg(1, words);
    handler.parallel_for(s.range, *s.kernel);
  });
}

ArgumentRing::ArgumentRing(const SyclDevice& device, sycl::queue& queue) : context_(device.context), queue_(queue) {
  host_ = known(sycl::malloc_host(kParts * kPart, context_));
  device_ = device.is_host() ? host_ : static_cast<std::byte*>(sycl::malloc_device(kParts * kPart, queue));
  if (device_ != nullptr) return;
  sycl::free(host_, context_);
  throw std::bad_alloc();
}

ArgumentRing::~ArgumentRing() {
  if (device_ != host_) sycl::free(device_, context_);
  sycl::free(host_, context_);
}

const void* ArgumentRing::put(const void* args, std::size_t bytes) {
  if (end_ % kPart + bytes > kPart || end_ % kPart == 0) {  // the next part
    at_ = (end_ + kPart - 1) / kPart % kParts * kPart;
    last_[at_ / kPart].wait();
  } else {
    at_ = end_;
  }
  end_ = at_ + aligned(bytes);
  std::memcpy(host_ + at_, args, bytes);
  if (device_ != host_) queue_.memcpy(device_ + at_, host_ + at_, bytes);
  return device_ + at_;
}

}  // namespace lw::gpu

using lw::gpu::Submission;

LwGraph::~LwGraph() {
  if (memory != nullptr) sycl::free(memory, device.context);
}

void LwGraph::add(const Submission& submission) {
  submissions.push_back(submission);
  if (submission.kernel == nullptr) return;
  const auto* const from = static_cast<const std::byte*>(submission.from);
  args.insert(args.end(), from, from + submission.bytes);
  args.resize(lw::gpu::aligned(args.size()));
}

void LwGraph::end() {
  sycl::queue queue(device.context, device.device, sycl::property::queue::in_order());
  place_args(queue);
  if (!device.device.has(sycl::aspect::ext_oneapi_limited_graph) || submissions.empty()) return;
  namespace syclex = sycl::ext::oneapi::experimental;
  syclex::command_graph<syclex::graph_state::modifiable> graph(device.context, device.device);
  graph.begin_recording(queue);
  for (const Submission& submission : submissions) lw::gpu::submit(queue, submission);
  graph.end_recording(queue);
  whole = graph.finalize();
  submissions = {};
}

void LwGraph::place_args(sycl::queue& queue) {
  if (args.empty()) return;
  memory = lw::gpu::known(device.is_host() ? sycl::malloc_host(args.size(), device.context)
                                           : sycl::malloc_device(args.size(), device.device, device.context));
  if (device.is_host()) {
    std::memcpy(memory, args.data(), args.size());
  } else {
    queue.memcpy(memory, args.data(), args.size()).wait();
  }
  std::size_t at = 0;
  for (Submission& submission : submissions) {
    if (submission.kernel == nullptr) continue;
    submission.from = memory + at;
    at += lw::gpu::aligned(submission.bytes);
  }
  args = {};
}

void LwGraph::replay(sycl::queue& queue) {
  if (whole) {
    queue.ext_oneapi_graph(*whole);
    return;
  }
  for (const Submission& submission : submissions) lw::gpu::submit(queue, submission);
}

LwStream::LwStream(lw::gpu::SyclDevice& device)
    : device(device),
      queue(device.context, device.device, lw::gpu::noting(device),
            {sycl::property::queue::in_order(), sycl::property::queue::enable_profiling()}),
      ring(device, queue) {}

void LwStream::take(const Submission& submission) {
  const std::lock_guard lock(mutex);
  if (captured != nullptr) {
    captured->add(submission);
    return;
  }
  if (submission.kernel == nullptr) {
    lw::gpu::submit(queue, submission);
    return;
  }
  Submission kernel = submission;
  kernel.from = ring.put(submission.from, submission.bytes);
  ring.used_by(lw::gpu::submit(queue, kernel));
}

void LwStream::wait() {
  queue.wait_and_throw();
  const std::lock_guard lock(device.mutex);
  if (!device.failure.empty()) throw lw::gpu::Refusal{LW_FAILED, device.failure};
}
