// Kernels in phase form, carried out by the host: blocks, phases and threads are loops.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "backend/gpu/phase.hpp"

namespace lw::gpu {

struct Grid {
  std::uint32_t blocks[3];
  std::uint32_t threads;
};

/// Who carries out a kernel: in what order its blocks, and its threads in a phase, have their turns. A cluster is taken
/// for one block with the threads of all of its blocks.
class Schedule {
 public:
  virtual ~Schedule() = default;
  /// Place `turn` of a permutation of [0, count).
  virtual std::uint32_t block(std::uint32_t turn, std::uint32_t count) noexcept = 0;
  virtual std::uint32_t thread(std::uint32_t turn, std::uint32_t count) noexcept = 0;
  /// Who has its turn: of a cluster, the first block.
  virtual void begin_block(const std::uint32_t (&block)[3]) noexcept = 0;
  /// after_barrier: else the threads that take turns only exchange words of lanes between this phase and the last one.
  virtual void begin_phase(std::uint32_t phase, bool after_barrier) noexcept = 0;
  virtual void begin_thread(std::uint32_t thread) noexcept = 0;
  virtual void end_block() noexcept = 0;
};

template <class K>
void run_on_host(const void* args_bytes, const Grid& grid, Schedule& schedule) {
  typename K::Args args;
  std::memcpy(&args, args_bytes, sizeof args);
  constexpr std::uint32_t kCluster = kClusterOf<K>;
  const std::uint32_t threads = kCluster * grid.threads, clusters = grid.blocks[0] / kCluster;
  std::vector<typename K::Registers> registers(threads);
  const std::uint32_t count = clusters * grid.blocks[1] * grid.blocks[2];
  for (std::uint32_t turn = 0; turn < count; ++turn) {
    const std::uint32_t number = schedule.block(turn, count), first = number % clusters * kCluster;
    Place place = {{first, number / clusters % grid.blocks[1], number / clusters / grid.blocks[1]}, 0, grid.threads};
    schedule.begin_block(place.block);
    const std::uint32_t phases = K::phases(args);
    for (std::uint32_t phase = 0; phase < phases; ++phase) {
      schedule.begin_phase(phase, phase == 0 || is_barrier<K>(phase, args));
      for (std::uint32_t i = 0; i < threads; ++i) {
        const std::uint32_t thread = schedule.thread(i, threads), rank = thread / grid.threads;
        schedule.begin_thread(thread);
        place.block[0] = first + rank;
        place.thread = thread % grid.threads;
        K::run(phase, args, place, Shared(rank), registers[thread]);
      }
    }
    schedule.end_block();
  }
}

/// A kernel as the host carries it out.
struct HostKernel {
  const char* name;
  std::uint32_t args_bytes;
  std::uint32_t threads;  // the most of a block
  std::uint32_t cluster;  // blocks of one
  void (*run)(const void* args, const Grid& grid, Schedule& schedule);
};

template <class K>
constexpr HostKernel host_kernel() noexcept {
  return {K::kName, sizeof(typename K::Args), K::kThreads, kClusterOf<K>, run_on_host<K>};
}

}  // namespace lw::gpu
