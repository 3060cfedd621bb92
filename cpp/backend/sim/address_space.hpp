// The addresses of a device: a range that the host cannot touch, and the live pieces of memory in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/sim/shadow.hpp"

namespace lw::sim {

/// The value of unwritten memory of the device and of the host: a signalling NaN, and no residue.
inline constexpr std::uint64_t kPoison = 0x7ff4dead7ff4dead;
void poison(void* memory, std::size_t bytes) noexcept;

struct FreeCells {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

/// Memory that was got: its bytes, which lie elsewhere on the host, and a cell of the shadow for every 8 of them.
struct Piece {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::unique_ptr<std::byte, FreeCells> data;
  std::unique_ptr<Cell, FreeCells> cells;

  bool holds(std::uintptr_t at, std::size_t count) const noexcept {
    const std::uintptr_t offset = at - begin;
    return offset < bytes && count <= bytes - offset;
  }
};

/// Pieces are aligned to 512 bytes and to no more; between them are at least 512 bytes that nobody owns, and the
/// addresses of freed ones are used again as late as can be. `find` may be called from any thread meanwhile.
class AddressSpace {
 public:
  /// Throws lw::Error if the system gives no addresses.
  AddressSpace();
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  /// 0 if there is no room. Filled with kPoison, every cell as one that nothing was written to.
  std::uintptr_t get(std::size_t bytes);
  /// The piece that begins there, which is no longer found; nullptr if there is none.
  std::unique_ptr<Piece> take_away(std::uintptr_t begin);

  /// The piece at an address or beside it, nullptr if none is near.
  Piece* find(std::uintptr_t at) const noexcept {
    const std::uintptr_t granule = (at - begin_) >> kGranuleBits;
    return granule < granules_ ? table_.get()[granule].load(std::memory_order_acquire) : nullptr;
  }
  bool contains(const void* memory) const noexcept {
    return reinterpret_cast<std::uintptr_t>(memory) - begin_ < granules_ << kGranuleBits;
  }
  /// Describes in words where bytes lie that are in no allocated piece.
  std::string locate(std::uintptr_t at, std::size_t bytes) const;

 private:
  static constexpr int kGranuleBits = 16;  // a granule of addresses belongs to one piece at most
  using Live = std::map<std::size_t, std::unique_ptr<Piece>>;
  struct Freed {
    std::uintptr_t begin;
    std::size_t bytes;
  };

  std::size_t granules_of(const Piece& piece) const noexcept;
  std::size_t room(std::size_t granules) const noexcept;
  void enter(const Piece& piece, Piece* entry) noexcept;

  void* reserved_ = nullptr;
  std::uintptr_t begin_ = 0;
  std::size_t granules_ = 0;
  std::unique_ptr<std::atomic<Piece*>, FreeCells> table_;
  mutable std::mutex mutex_;  // guards what follows
  Live live_;                 // by the first granule
  std::deque<Freed> freed_;   // the last ones
  std::size_t next_ = 0;      // the granule from which on room is looked for
  std::size_t made_ = 0;
};

}  // namespace lw::sim
