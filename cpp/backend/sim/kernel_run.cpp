#include "backend/sim/kernel_run.hpp"

#include <algorithm>
#include <exception>
#include <numeric>

#include "backend/sim/text.hpp"

namespace lw::sim {
namespace {

std::vector<std::uint32_t> shuffled(std::uint32_t count, std::mt19937_64& random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t left = count; left > 1; --left) std::swap(order[left - 1], order[random() % left]);
  return order;
}

}  // namespace

KernelRun::KernelRun(const Memories& memories, std::uint32_t work, const Clock& clock, const Launch& launch,
                     Order order, std::uint64_t seed)
    : Watch(memories, work, clock),
      launch_(launch),
      order_(order),
      random_(seed),
      shared_words_(launch.shared_bytes / 8, kPoison),
      shared_cells_(launch.shared_bytes / 8) {
  const auto& blocks = launch.grid.blocks;
  if (order != Order::kShuffled) return;
  blocks_ = shuffled(blocks[0] * blocks[1] * blocks[2], random_);
  threads_ = shuffled(launch.grid.threads, random_);
}

void KernelRun::run() {
  gpu::memory = this;
  try {
    launch_.kernel->run(launch_.args.data(), launch_.grid, *this);
  } catch (const std::exception& error) {
    fail(text("it threw: ", error.what()));
  }
  gpu::memory = nullptr;
}

void* KernelRun::global(const void* address, std::size_t bytes, std::size_t alignment, Access access) noexcept {
  if (!failure().empty()) return nowhere(bytes);
  std::byte* data = word(reinterpret_cast<std::uintptr_t>(address), bytes, alignment, access);
  return data != nullptr ? data : nowhere(bytes);
}

std::uint64_t* KernelRun::shared(std::size_t i, Access access) noexcept {
  if (!failure().empty()) return static_cast<std::uint64_t*>(nowhere(8));
  if (i >= shared_cells_.size()) {
    fail(text(access == Access::kRead ? "read" : "write", " of word ", i, " of shared memory, which has ",
              shared_cells_.size(), " words"));
    return static_cast<std::uint64_t*>(nowhere(8));
  }
  SharedCell& cell = shared_cells_[i];
  const bool was_written = turns_.of_block(cell.writer_turn);
  if (access == Access::kRead && !was_written) {
    fail(text("read of word ", i, " of shared memory, which nothing wrote"));
  } else if (was_written && turns_.meets(cell.writer_turn)) {
    fail_shared("wrote", i, cell.writer_turn);
  } else if (access == Access::kRead) {
    cell.reader_turn = turns_.of_block(cell.reader_turn) ? turns_.with(cell.reader_turn) : turns_.turn();
  } else if (turns_.of_block(cell.reader_turn) && turns_.meets(cell.reader_turn)) {
    fail_shared("read", i, cell.reader_turn);
  } else {
    cell.writer_turn = turns_.turn();
  }
  return &shared_words_[i];
}

void KernelRun::fail_shared(const char* what, std::size_t i, std::uint32_t turn) noexcept {
  fail(text("missing barrier: it uses word ", i, " of shared memory, which ", turn_text(turn), " ", what));
}

std::uint32_t KernelRun::block(std::uint32_t turn, std::uint32_t count) noexcept {
  if (order_ == Order::kShuffled) return blocks_[turn];
  return order_ == Order::kForward ? turn : count - 1 - turn;
}

std::uint32_t KernelRun::thread(std::uint32_t turn, std::uint32_t count) noexcept {
  if (order_ == Order::kShuffled) return threads_[(turn + first_thread_) % count];
  return order_ == Order::kForward ? turn : count - 1 - turn;
}

void KernelRun::begin_block(const std::uint32_t (&block)[3]) noexcept {
  turns_.begin_block();
  starts_.push_back({turns_.section() + 1, {block[0], block[1], block[2]}});
}

void KernelRun::begin_phase(std::uint32_t phase) noexcept {
  phase_ = phase;
  if (order_ == Order::kShuffled) first_thread_ = static_cast<std::uint32_t>(random_() % threads_.size());
  if (!turns_.begin_phase()) fail("it has more phases of blocks than the simulator tells apart");
}

std::string KernelRun::subject() const {
  if (starts_.empty()) return Watch::subject();
  const auto& block = starts_.back().block;
  return text(Watch::subject(), ", ", BlockText{block[0], block[1], block[2]}, ", thread ", thread_, ", phase ",
              phase_);
}

std::string KernelRun::turn_text(std::uint32_t turn) const {
  const std::uint32_t section = turn >> kThreadBits, thread = turn % (1u << kThreadBits);
  if (section < kFirstSection) return "another block";
  const auto after =
      std::find_if(starts_.rbegin(), starts_.rend(), [&](const auto& s) { return s.section <= section; });
  const std::string who = thread == kSeveral ? "another thread" : text("thread ", thread);
  return text(who, " of ", BlockText{after->block[0], after->block[1], after->block[2]}, " in phase ",
              section - after->section);
}

/// Poison again each time: what a wrong thread stored is nothing to read.
void* KernelRun::nowhere(std::size_t bytes) noexcept {
  nowhere_.assign(std::max<std::size_t>(bytes / 8 + 2, 8), kPoison);
  return nowhere_.data();
}

}  // namespace lw::sim
