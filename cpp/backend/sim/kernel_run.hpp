// One launch of a kernel, carried out with every access checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/gpu/host_kernel.hpp"
#include "backend/sim/simulator.hpp"
#include "backend/sim/text.hpp"
#include "backend/sim/watch.hpp"

namespace lw::sim {

/// The arguments of a launch.
struct Launch {
  const gpu::HostKernel* kernel = nullptr;
  gpu::Grid grid = {};
  std::uint32_t shared_bytes = 0;
  std::vector<std::byte> args;
};

/// Gives the turns of a launch in the order of the simulator, and checks the accesses of the thread that has its turn:
/// to global memory as Watch does, to shared memory that nothing is read which nothing wrote, and that no word is used
/// by two threads in one phase; and that lanes take what was given in the phase before, all of a block together.
class KernelRun final : public Watch, public gpu::Memory, public gpu::Schedule {
 public:
  using Access = gpu::Memory::Access;

  KernelRun(const Memories& memories, std::uint32_t work, const Clock& clock, const Launch& launch, Order order,
            std::uint64_t seed);

  /// Carries the launch out on this thread.
  void run();

  void* global(const void* address, std::size_t bytes, std::size_t alignment, Access access) noexcept override;
  std::uint64_t* shared(std::uint32_t rank, std::size_t i, Access access) noexcept override;
  void give(std::uint64_t word) noexcept override;
  std::uint64_t take(std::uint32_t bits) noexcept override;

  std::uint32_t block(std::uint32_t turn, std::uint32_t count) noexcept override;
  std::uint32_t thread(std::uint32_t turn, std::uint32_t count) noexcept override;
  void begin_block(const std::uint32_t (&block)[3]) noexcept override;
  void begin_phase(std::uint32_t phase, bool after_barrier) noexcept override;
  void begin_thread(std::uint32_t thread) noexcept override { turns_.begin_thread(thread_ = thread); }
  void end_block() noexcept override { check_takes(); }

 private:
  /// The last accesses to a word of shared memory; turns of other blocks count as none.
  struct SharedCell {
    std::uint32_t writer_turn = 0, reader_turn = 0;
  };
  static constexpr std::uint32_t kNever = UINT32_MAX;
  /// The word that a thread gave in a phase of the running block.
  struct Given {
    std::uint64_t word = 0;
    std::uint32_t phase = kNever;
  };
  struct BlockStart {
    std::uint32_t section;  // its first
    std::uint32_t block[3];
  };

  std::string subject() const override;
  std::string turn_text(std::uint32_t turn) const override;
  void* nowhere(std::size_t bytes) noexcept;
  void check_takes() noexcept;
  void fail_shared(const char* what, const SharedText& word, std::uint32_t turn) noexcept;

  /// Block and thread of a cluster that is taken for one block.
  std::string thread_text(const std::uint32_t (&first)[3], std::uint32_t thread) const;

  const Launch& launch_;
  const Order order_;
  const std::uint32_t num_threads_;  // of a cluster
  std::mt19937_64 random_;
  std::vector<std::uint32_t> blocks_, threads_;  // permutations, if shuffled
  std::uint32_t first_thread_ = 0;               // of the phase, in threads_
  std::uint32_t phase_ = 0, thread_ = 0;
  std::vector<BlockStart> starts_;  // of the blocks until now
  std::vector<std::uint64_t> shared_words_;
  std::vector<SharedCell> shared_cells_;
  std::vector<Given> given_[2];         // by thread, in even and odd phases
  std::uint32_t takes_ = 0;             // of the running phase
  bool is_exchange_ = false;            // the running phase began without a barrier
  std::vector<std::uint64_t> nowhere_;  // where threads read and write after a failure
};

}  // namespace lw::sim
