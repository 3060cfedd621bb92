#include "backend/sim/kernel_run.hpp"

#include <algorithm>
#include <exception>
#include <numeric>

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
      num_threads_(launch.kernel->cluster * launch.grid.threads),
      random_(seed),
      shared_words_(launch.kernel->cluster * (launch.shared_bytes / 8), kPoison),
      shared_cells_(shared_words_.size()) {
  const auto& blocks = launch.grid.blocks;
  if (order != Order::kShuffled) return;
  blocks_ = shuffled(blocks[0] / launch.kernel->cluster * blocks[1] * blocks[2], random_);
  threads_ = shuffled(num_threads_, random_);
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

std::uint64_t* KernelRun::shared(std::uint32_t rank, std::size_t i, Access access) noexcept {
  if (!failure().empty()) return static_cast<std::uint64_t*>(nowhere(8));
  const std::size_t words = launch_.shared_bytes / 8;
  if (i >= words || rank >= launch_.kernel->cluster) {
    fail(
        text(access == Access::kRead ? "read" : "write", " of ", SharedText{rank, i}, ", which has ", words, " words"));
    return static_cast<std::uint64_t*>(nowhere(8));
  }
  const std::size_t place = rank * words + i;
  SharedCell& cell = shared_cells_[place];
  const bool was_written = turns_.of_block(cell.writer_turn);
  if (access == Access::kRead && !was_written) {
    fail(text("read of ", SharedText{rank, i}, ", which nothing wrote"));
  } else if (was_written && turns_.meets(cell.writer_turn)) {
    fail_shared("wrote", {rank, i}, cell.writer_turn);
  } else if (access == Access::kRead) {
    cell.reader_turn = turns_.of_block(cell.reader_turn) ? turns_.with(cell.reader_turn) : turns_.turn();
  } else if (turns_.of_block(cell.reader_turn) && turns_.meets(cell.reader_turn)) {
    fail_shared("read", {rank, i}, cell.reader_turn);
  } else {
    cell.writer_turn = turns_.turn();
  }
  return &shared_words_[place];
}

void KernelRun::give(std::uint64_t word) noexcept { given_[phase_ % 2][thread_] = {word, phase_}; }

std::uint64_t KernelRun::take(std::uint32_t bits) noexcept {
  if (!failure().empty()) return kPoison;
  ++takes_;
  const std::uint32_t from = thread_ ^ bits;
  if (!is_exchange_) {
    fail("it takes a word from another lane in a phase that is not said to be an exchange");
  } else if (bits >= gpu::kWarp || from >= num_threads_) {
    fail(text("it takes a word from thread ", from, ", which is not in its warp"));
  } else if (const Given& given = given_[(phase_ - 1) % 2][from]; given.phase != phase_ - 1) {
    fail(text("it takes a word from thread ", from, ", which gave none in the phase before"));
  } else {
    return given.word;
  }
  return kPoison;
}

/// Shuffles wait for lanes that do not come.
void KernelRun::check_takes() noexcept {
  if (takes_ % num_threads_ != 0) {
    fail(text("in its last phase ", takes_, " of ", num_threads_, " threads took a word from another lane"));
  }
  takes_ = 0;
}

void KernelRun::fail_shared(const char* what, const SharedText& word, std::uint32_t turn) noexcept {
  fail(text("missing barrier: it uses ", word, ", which ", turn_text(turn), " ", what));
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
  for (std::vector<Given>& given : given_) given.assign(num_threads_, {});
  starts_.push_back({turns_.section() + 1, {block[0], block[1], block[2]}});
}

void KernelRun::begin_phase(std::uint32_t phase, bool after_barrier) noexcept {
  check_takes();
  phase_ = phase;
  is_exchange_ = !after_barrier;
  if (order_ == Order::kShuffled) first_thread_ = static_cast<std::uint32_t>(random_() % threads_.size());
  if (after_barrier && !turns_.begin_phase()) fail("it has more phases of blocks than the simulator tells apart");
}

std::string KernelRun::subject() const {
  if (starts_.empty()) return Watch::subject();
  return text(Watch::subject(), ", ", thread_text(starts_.back().block, thread_), ", phase ", phase_);
}

std::string KernelRun::thread_text(const std::uint32_t (&first)[3], std::uint32_t thread) const {
  const std::uint32_t threads = launch_.grid.threads;
  return text(BlockText{first[0] + thread / threads, first[1], first[2]}, ", thread ", thread % threads);
}

std::string KernelRun::turn_text(std::uint32_t turn) const {
  const std::uint32_t section = turn >> kThreadBits, thread = turn % (1u << kThreadBits);
  if (section < kFirstSection) return "another block";
  const auto after =
      std::find_if(starts_.rbegin(), starts_.rend(), [&](const auto& s) { return s.section <= section; });
  const std::uint32_t (&first)[3] = after->block;
  const std::string who = thread != kSeveral ? thread_text(first, thread)
                                             : text(BlockText{first[0], first[1], first[2]}, ", another thread");
  return text(who, ", in phase ", section - after->section);
}

/// Poison again each time: what a wrong thread stored is nothing to read.
void* KernelRun::nowhere(std::size_t bytes) noexcept {
  nowhere_.assign(std::max<std::size_t>(bytes / 8 + 2, 8), kPoison);
  return nowhere_.data();
}

}  // namespace lw::sim
