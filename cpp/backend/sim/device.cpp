#include "backend/sim/device.hpp"

#include <cstring>
#include <exception>
#include <utility>

#include "backend/sim/machine.hpp"

namespace lw::sim {

Gpu::Gpu(Machine& owner, std::int32_t its_number, Works& works, std::mutex& mutex, Order order)
    : machine(owner), number(its_number), works_(works), mutex_(mutex), order_(order), worker_([this] { work(); }) {}

Gpu::~Gpu() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  machine.progress.notify_all();
  worker_.join();
}

void Gpu::hand_over(Work work) {
  queue_.push_back(std::move(work));
  ++handed_over_;
  wake_.notify_one();
}

void Gpu::finish(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t goal = handed_over_;
  machine.progress.wait(lock, [&] { return done_ >= goal; });
  if (!failure.empty()) {
    shows_failure = true;
    last_error = failure;
  }
}

void Gpu::dispose(std::unique_ptr<Piece> piece) {
  if (busy_) disposed_.push_back(std::move(piece));
}

void Gpu::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    const std::uint32_t work_number = work.number;
    if (work.kind == Work::Kind::kAwait) {
      machine.progress.wait(lock, [&] { return work.signal->done || stop_; });
      if (stop_) return;
    } else if (work.kind == Work::Kind::kRecord) {
      work.signal->done = true;
      work.signal->when = std::chrono::steady_clock::now();
    } else if (failure.empty() && !lost) {
      busy_ = true;
      lock.unlock();
      std::string wrong = carry_out(work);
      work = Work{work.kind};  // its memory is given back without the lock
      lock.lock();
      busy_ = false;
      disposed_.clear();
      failure = std::move(wrong);
    }
    if (work_number != 0) works_.set_done(work_number);
    ++done_;
    machine.progress.notify_all();
  }
}

std::string Gpu::carry_out(const Work& work) {
  using Access = Watch::Access;
  const Memories memories = {addresses, sets_, works_};
  try {
    if (work.kind == Work::Kind::kLaunch) {
      KernelRun run(memories, work.number, *work.clock, work.launch, order_, work.seed);
      run.run();
      return run.failure();
    }
    Watch watch(memories, work.number, *work.clock);
    if (work.kind == Work::Kind::kMark) {
      watch.mark(work.to, work.bytes, work.in_use);
      return watch.failure();
    }
    const bool reads = work.kind != Work::Kind::kUpload, writes = work.kind != Work::Kind::kDownload;
    const void* from = reads ? watch.range(work.from, work.bytes, Access::kRead) : work.from;
    void* to = writes ? watch.range(work.to, work.bytes, Access::kWrite) : work.to;
    if (watch.failure().empty()) std::memcpy(to, from, work.bytes);
    return watch.failure();
  } catch (const std::exception& error) {
    return std::string("the simulator cannot go on: ") + error.what();
  }
}

}  // namespace lw::sim
