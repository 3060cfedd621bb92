// The checks of every access of a piece of work to the memory of its device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/phase.hpp"
#include "backend/sim/address_space.hpp"
#include "backend/sim/clock.hpp"
#include "backend/sim/reader_sets.hpp"
#include "backend/sim/shadow.hpp"
#include "backend/sim/works.hpp"

namespace lw::sim {

/// The memory state that the checks of a device read: addresses, sets of readers, and pieces of work.
struct Memories {
  AddressSpace& addresses;
  ReaderSets& sets;
  const Works& works;
};

/// Checks the accesses of one piece of work, by words of 8 bytes, and remembers them. The first that is wrong is the
/// failure of the piece of work; later ones are not looked at. Parts of words are checked like words, except against
/// other threads of the same launch, which may use another part.
class Watch {
 public:
  using Access = gpu::Memory::Access;

  Watch(const Memories& memories, std::uint32_t work, const Clock& clock);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  virtual ~Watch() = default;

  /// The message of the first wrong access; empty: nothing went wrong.
  const std::string& failure() const noexcept { return failure_; }

  /// The host's address of bytes that are read or written as a whole; nullptr if the access is wrong.
  std::byte* range(const void* address, std::uint64_t bytes, Access access);
  /// Makes bytes nobody's, or somebody's that hold nothing.
  void mark(const void* address, std::uint64_t bytes, bool in_use);

 protected:
  void fail(const std::string& what);
  /// Who does what is wrong: the beginning of every message.
  virtual std::string subject() const;
  /// A turn of the launch in words.
  virtual std::string turn_text(std::uint32_t turn) const;

  /// One access of the running thread; nullptr if it is wrong.
  std::byte* word(std::uintptr_t at, std::size_t bytes, std::size_t alignment, Access access) {
    if (!piece_->holds(at, bytes) && !find(at, bytes, access)) return nullptr;
    const std::uintptr_t offset = at - piece_->begin;
    if (bytes == 8) {
      if (offset % 8 != 0) return misaligned(at, bytes, access);
      Cell& cell = piece_->cells.get()[offset / 8];
      const Trouble trouble = access == Access::kRead ? read(cell, turns_.turn()) : write(cell, turn_of(access));
      if (trouble != Trouble::kNone) return blame(trouble, cell, at, bytes, access);
      return piece_->data.get() + offset;
    }
    return words(at, bytes, alignment, access);
  }

  Turns turns_;

 private:
  enum class Trouble { kNone, kUnwritten, kReleased, kUnordered, kUnorderedReader, kMetWriter, kMetReader };

  std::uint32_t turn_of(Access access) const noexcept {
    return access == Access::kShout ? turns_.turn() | kShouted : turns_.turn();
  }

  bool is_before(std::uint32_t work) noexcept { return before_[work % before_.size()] == work || look_up(work); }

  Trouble read(Cell& cell, std::uint32_t turn) {
    if (cell.writer == work_) {
      if (turn != kNoTurn && turns_.meets(cell.writer_turn & ~kShouted)) return Trouble::kMetWriter;
    } else if (!is_before(cell.writer)) {
      return Trouble::kUnordered;
    }
    if (cell.writer_turn <= kReleased) return cell.writer_turn == kReleased ? Trouble::kReleased : Trouble::kUnwritten;
    if (sets_.holds(cell.reader, work_)) {
      cell.reader_turn = turn == kNoTurn ? kNoTurn : turns_.with(cell.reader_turn);
    } else {
      cell.reader = cell.reader == 0 ? work_ : with_reader(cell.reader);
      cell.reader_turn = turn;
    }
    return Trouble::kNone;
  }

  Trouble write(Cell& cell, std::uint32_t turn) {
    if (cell.writer == work_) {
      const bool both_shout = (turn & kShouted) != 0 && (cell.writer_turn & kShouted) != 0;
      if (turn != kNoTurn && !both_shout && turns_.meets(cell.writer_turn & ~kShouted)) return Trouble::kMetWriter;
      if (both_shout && cell.reader == 0) return Trouble::kNone;  // the first one stays remembered
    } else if (!is_before(cell.writer)) {
      return Trouble::kUnordered;
    }
    if (cell.reader != 0) {
      if (turn != kNoTurn && sets_.holds(cell.reader, work_) && turns_.meets(cell.reader_turn)) {
        return Trouble::kMetReader;
      }
      if (cell.reader != work_ && !readers_are_before(cell.reader)) return Trouble::kUnorderedReader;
    }
    if (cell.writer_turn == kReleased && turn > kReleased) return Trouble::kReleased;
    cell = {work_, 0, turn, 0};
    return Trouble::kNone;
  }

  bool look_up(std::uint32_t work) noexcept;
  bool readers_are_before(std::uint32_t readers);
  std::uint32_t with_reader(std::uint32_t readers);
  bool find(std::uintptr_t at, std::size_t bytes, Access access);
  std::byte* words(std::uintptr_t at, std::size_t bytes, std::size_t alignment, Access access);
  Trouble cells(std::uintptr_t at, std::size_t bytes, Access access, std::uint32_t turn, Cell** wrong);
  std::byte* misaligned(std::uintptr_t at, std::size_t bytes, Access access);
  std::byte* blame(Trouble trouble, const Cell& cell, std::uintptr_t at, std::size_t bytes, Access access);
  std::string stranger(std::uint32_t readers);

  AddressSpace& addresses_;
  ReaderSets& sets_;
  const Works& works_;
  const std::uint32_t work_;
  const Clock& clock_;
  const WorkName name_;
  const Piece* piece_;                         // the one used last
  std::array<std::uint32_t, 64> before_ = {};  // work that is known to come before
  std::string failure_;
};

}  // namespace lw::sim
