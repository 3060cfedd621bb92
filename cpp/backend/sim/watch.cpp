#include "backend/sim/watch.hpp"

#include <algorithm>

#include "backend/sim/text.hpp"

namespace lw::sim {
namespace {

const Piece kNoPiece;

const char* verb(Watch::Access access) { return access == Watch::Access::kRead ? "read" : "write"; }

std::string access_text(std::uintptr_t at, std::size_t bytes, Watch::Access access) {
  return text(verb(access), " of ", bytes, " bytes at 0x", std::hex, at);
}

}  // namespace

Watch::Watch(const Memories& memories, std::uint32_t work, const Clock& clock)
    : addresses_(memories.addresses),
      sets_(memories.sets),
      works_(memories.works),
      work_(work),
      clock_(clock),
      name_(works_.find(work).value()),
      piece_(&kNoPiece) {
  sets_.begin(works_);
  before_[work % before_.size()] = work;
}

std::string Watch::subject() const { return to_text(name_); }

std::string Watch::turn_text(std::uint32_t) const { return "it"; }

void Watch::fail(const std::string& what) {
  if (failure_.empty()) failure_ = text(subject(), ": ", what);
}

bool Watch::look_up(std::uint32_t work) noexcept {
  if (work == 0) return true;
  const std::optional<WorkName> name = works_.find(work);
  if (name && name->stream != name_.stream && clock_.at(name->stream) < name->time) return false;
  before_[work % before_.size()] = work;
  return true;
}

bool Watch::readers_are_before(std::uint32_t readers) {
  for (const std::uint32_t reader : sets_.members(readers)) {
    if (!is_before(reader)) return false;
  }
  return true;
}

std::uint32_t Watch::with_reader(std::uint32_t readers) {
  return sets_.with(readers, work_, [this](std::uint32_t reader) { return is_before(reader); });
}

bool Watch::find(std::uintptr_t at, std::size_t bytes, Access access) {
  const Piece* piece = addresses_.find(at);
  if (piece != nullptr && piece->holds(at, bytes)) {
    piece_ = piece;
    return true;
  }
  fail(text(access_text(at, bytes, access), " outside live memory: ", addresses_.locate(at, bytes)));
  return false;
}

std::byte* Watch::misaligned(std::uintptr_t at, std::size_t bytes, Access access) {
  fail(text(access_text(at, bytes, access), " is misaligned: it is ", at - piece_->begin, " bytes into the piece of ",
            piece_->bytes, " bytes at 0x", std::hex, piece_->begin));
  return nullptr;
}

Watch::Trouble Watch::cells(std::uintptr_t at, std::size_t bytes, Access access, std::uint32_t turn, Cell** wrong) {
  const std::uintptr_t offset = at - piece_->begin;
  Cell* cell = piece_->cells.get() + offset / 8;
  Cell* const end = piece_->cells.get() + (offset + bytes + 7) / 8;
  const auto same = [](const Cell& a, const Cell& b) {
    return a.writer == b.writer && a.reader == b.reader && a.writer_turn == b.writer_turn &&
           a.reader_turn == b.reader_turn;
  };
  while (cell != end) {
    const Cell before = *cell;
    *wrong = cell;
    const Trouble trouble = access == Access::kRead ? read(*cell, turn) : write(*cell, turn);
    if (trouble != Trouble::kNone) return trouble;
    const Cell after = *cell++;
    for (; cell != end && same(*cell, before); ++cell) *cell = after;
  }
  return Trouble::kNone;
}

/// An access of another size than a word's: one of several words, or of a part of one.
std::byte* Watch::words(std::uintptr_t at, std::size_t bytes, std::size_t alignment, Access access) {
  const std::uintptr_t offset = at - piece_->begin;
  if (offset % alignment != 0) return misaligned(at, bytes, access);
  Cell* wrong = nullptr;
  const std::uint32_t own = access == Access::kRead ? turns_.turn() : turn_of(access);
  const Trouble trouble = cells(at, bytes, access, bytes % 8 == 0 ? own : kNoTurn, &wrong);
  if (trouble != Trouble::kNone) return blame(trouble, *wrong, at, bytes, access);
  return piece_->data.get() + offset;
}

std::byte* Watch::range(const void* address, std::uint64_t bytes, Access access) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (!find(at, bytes, access)) return nullptr;
  Cell* wrong = nullptr;
  const Trouble trouble = cells(at, bytes, access, kNoTurn, &wrong);
  if (trouble == Trouble::kNone) return piece_->data.get() + (at - piece_->begin);
  const std::uintptr_t first = piece_->begin + 8 * static_cast<std::uintptr_t>(wrong - piece_->cells.get());
  return blame(trouble, *wrong, std::max(at, first), bytes, access);
}

void Watch::mark(const void* address, std::uint64_t bytes, bool in_use) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (!find(at, bytes, Access::kWrite)) return;
  Cell* wrong = nullptr;
  const Trouble trouble = cells(at, bytes, Access::kWrite, in_use ? kUnwritten : kReleased, &wrong);
  if (trouble != Trouble::kNone) {
    blame(trouble, *wrong, at, bytes, Access::kWrite);
  } else {
    poison(piece_->data.get() + (at - piece_->begin), bytes);
  }
}

std::string Watch::stranger(std::uint32_t readers) {
  for (const std::uint32_t reader : sets_.members(readers)) {
    if (is_before(reader)) continue;
    if (const std::optional<WorkName> name = works_.find(reader)) return to_text(*name);
  }
  return "work that the host waited for meanwhile";
}

std::byte* Watch::blame(Trouble trouble, const Cell& cell, std::uintptr_t at, std::size_t bytes, Access access) {
  const std::string what = access_text(at, bytes, access);
  switch (trouble) {
    case Trouble::kUnwritten:
      fail(text("read of memory that nothing wrote: ", what));
      break;
    case Trouble::kReleased:
      fail(text("use after it was released: ", what));
      break;
    case Trouble::kUnordered:
      fail(text("unordered use across queues: ", what, ", which is not ordered after ", stranger(cell.writer)));
      break;
    case Trouble::kUnorderedReader:
      fail(text("unordered use across queues: ", what, ", which is not ordered after the read by ",
                stranger(cell.reader)));
      break;
    case Trouble::kMetWriter:
      fail(text("two threads use one word: ", what, ", which ", turn_text(cell.writer_turn & ~kShouted), " wrote"));
      break;
    case Trouble::kMetReader:
      fail(text("two threads use one word: ", what, ", which ", turn_text(cell.reader_turn), " read"));
      break;
    case Trouble::kNone:
      break;
  }
  return nullptr;
}

}  // namespace lw::sim
