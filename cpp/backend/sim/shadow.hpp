// Shadow memory: the last accesses to each word, and the turns of a kernel's threads.
#pragma once

#include <cstdint>

namespace lw::sim {

/// The shadow of 8 bytes of a device's memory: who wrote them last, and who has read them since.
struct Cell {
  std::uint32_t writer;       // the number of a piece of work; 0: nobody
  std::uint32_t reader;       // the same, or a set of them (kSet and the number of the set)
  std::uint32_t writer_turn;  // within the work: a turn, or one of those below
  std::uint32_t reader_turn;
};

inline constexpr std::uint32_t kSet = 0x80000000;

/// A turn is a section (a phase of a block: the sections of a launch are numbered) and a thread. Sections that a
/// launch gives to none of its phases stand for what is no turn.
inline constexpr int kThreadBits = 12;
inline constexpr std::uint32_t kThreads = 1u << (kThreadBits - 1);  // of a cluster, at most
inline constexpr std::uint32_t kShouted = kThreads;                 // of writers: any thread may write the same
inline constexpr std::uint32_t kSeveral = (1u << kThreadBits) - 1;  // of readers: threads of one section
inline constexpr std::uint32_t kFirstSection = 2;                   // of a launch
inline constexpr std::uint32_t kSeveralBlocks = 1u << kThreadBits;  // of readers
inline constexpr std::uint32_t kLastSection = (1u << (32 - kThreadBits)) - 1;
inline constexpr std::uint32_t kUnwritten = 0, kReleased = 1, kNoTurn = 2;  // kNoTurn: written, but not by one thread

/// Judges the turns of one launch against each other: in order are those of one thread, and those of one block in
/// different phases.
class Turns {
 public:
  void begin_block() noexcept { first_ = section_ + 1; }
  /// False if there are more phases of blocks than can be told apart.
  bool begin_phase() noexcept { return ++section_ <= kLastSection; }
  void begin_thread(std::uint32_t thread) noexcept { turn_ = section_ << kThreadBits | thread; }

  std::uint32_t turn() const noexcept { return turn_; }
  std::uint32_t section() const noexcept { return section_; }
  /// Whether the running thread is in no order with a turn of this launch.
  bool meets(std::uint32_t turn) const noexcept {
    const std::uint32_t section = turn >> kThreadBits;
    return section == section_ ? turn != turn_ : section < first_ && section != 0;
  }
  /// The readers of a word after the running thread read it too.
  std::uint32_t with(std::uint32_t readers) const noexcept {
    const std::uint32_t section = readers >> kThreadBits;
    if (section == section_) return readers == turn_ ? turn_ : section << kThreadBits | kSeveral;
    return section < first_ && section != 0 ? kSeveralBlocks : turn_;
  }
  /// Whether the turn is one of the running block.
  bool of_block(std::uint32_t turn) const noexcept { return turn >> kThreadBits >= first_; }

 private:
  std::uint32_t section_ = kFirstSection - 1, first_ = kFirstSection, turn_ = 0;
};

}  // namespace lw::sim
