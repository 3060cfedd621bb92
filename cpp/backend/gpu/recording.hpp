// A run as graphs of a device's driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backend/device.hpp"
#include "backend/gpu/card.hpp"
#include "backend/gpu/device_memory.hpp"

namespace lw::gpu {

/// Captured in pieces, each of which is replayed as soon as it is captured: nothing else is carried out in between.
/// What kernels are given goes to memory that stays, and is uploaded once.
class GpuRecording final : public Recording {
 public:
  /// Makes a recording; nullptr where the most queues allowed belong to recordings.
  static std::unique_ptr<GpuRecording> make(std::shared_ptr<Card> card, std::size_t most_bytes);
  ~GpuRecording() override;

  const QueueNumber& queue() const noexcept override { return queue_; }
  void begin() noexcept override;
  void give_up() noexcept override;
  bool end() noexcept override;
  void replay(const std::function<void()>& between) override;
  std::size_t bytes() const noexcept override;

  struct Place {
    std::byte* pinned = nullptr;  // nullptr: none is left
    std::byte* memory = nullptr;
  };
  /// Room for what the kernels of this piece are given: pinned memory that is uploaded before them.
  Place stage(std::size_t bytes) noexcept;
  /// Counts a call with `args_bytes` bytes of arguments.
  void note_call(std::size_t args_bytes) noexcept;
  /// The piece that is captured is to wait for what was called on a queue.
  void await(int number) noexcept { awaited_ |= queue_bit(number); }

 private:
  struct Piece {
    LwGraph* graph;
    std::uint64_t awaited;  // queues, before it is called first
    std::size_t calls;
  };
  struct Block {
    std::byte* pinned;
    std::byte* memory;
    std::size_t bytes, filled, uploaded;
  };

  GpuRecording(std::shared_ptr<Card> card, std::size_t most_bytes);
  void begin_piece() noexcept;
  void end_piece() noexcept;
  void upload_staged() noexcept;
  void call(Piece& piece) noexcept;
  /// Makes the queue wait for others, once.
  void order(std::uint64_t& awaited) noexcept;
  bool make_block(std::size_t bytes) noexcept;

  const std::shared_ptr<Card> card_;
  const QueueNumber queue_;
  const std::size_t most_bytes_;
  std::shared_ptr<Arena> arena_;
  std::vector<Piece> pieces_;
  std::vector<Block> staged_;
  std::uint64_t awaited_ = 0;   // by the piece that is captured
  std::size_t calls_ = 0;       // in it
  std::size_t host_bytes_ = 0;  // of all calls
  bool is_whole_ = true;
};

}  // namespace lw::gpu
