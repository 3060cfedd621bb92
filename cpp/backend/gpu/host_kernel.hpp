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

/// Who carries out a kernel: in what order its blocks, and its threads in a phase, have their turns.
class Schedule {
 public:
  virtual ~Schedule() = default;
  /// Place `turn` of a permutation of [0, count).
  virtual std::uint32_t block(std::uint32_t turn, std::uint32_t count) noexcept = 0;
  virtual std::uint32_t thread(std::uint32_t turn, std::uint32_t count) noexcept = 0;
  /// Who has its turn.
  virtual void begin_block(const std::uint32_t (&block)[3]) noexcept = 0;
  virtual void begin_phase(std::uint32_t phase) noexcept = 0;
  virtual void begin_thread(std::uint32_t thread) noexcept = 0;
};

template <class K>
void run_on_host(const void* args_bytes, const Grid& grid, Schedule& schedule) {
  typename K::Args args;
  std::memcpy(&args, args_bytes, sizeof args);
  std::vector<typename K::Registers> registers(grid.threads);
  const std::uint32_t count = grid.blocks[0] * grid.blocks[1] * grid.blocks[2];
  for (std::uint32_t turn = 0; turn < count; ++turn) {
    const std::uint32_t number = schedule.block(turn, count);
    Place place = {
        {number % grid.blocks[0], number / grid.blocks[0] % grid.blocks[1], number / grid.blocks[0] / grid.blocks[1]},
        0,
        grid.threads};
    schedule.begin_block(place.block);
    const std::uint32_t phases = K::phases(args);
    for (std::uint32_t phase = 0; phase < phases; ++phase) {
      schedule.begin_phase(phase);
      for (std::uint32_t i = 0; i < grid.threads; ++i) {
        place.thread = schedule.thread(i, grid.threads);
        schedule.begin_thread(place.thread);
        K::run(phase, args, place, Shared(), registers[place.thread]);
      }
    }
  }
}

/// A kernel as the host carries it out.
struct HostKernel {
  const char* name;
  std::uint32_t args_bytes;
  std::uint32_t threads;  // the most of a block
  void (*run)(const void* args, const Grid& grid, Schedule& schedule);
};

template <class K>
constexpr HostKernel host_kernel() noexcept {
  return {K::kName, sizeof(typename K::Args), K::kThreads, run_on_host<K>};
}

}  // namespace lw::gpu
