// The limbs of keys that one process has in memory, and the threads that read them.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "exec/key_slots.hpp"
#include "exec/mapped_keys.hpp"

namespace lw {

/// The windows that a run will go through, as far as they have been announced. The first is in use, or the next to be.
using KeyLimbWindows = std::deque<KeyLimbWindow>;

class KeyStore {
 public:
  KeyStore(std::shared_ptr<const Context> context, std::shared_ptr<const EvaluationKeyFile> file, KeyReading reading,
           KeyReadObserver on_read, KeyWaitObserver on_wait);
  KeyStore(const KeyStore&) = delete;

  static std::size_t limb_bytes(const Context& context) noexcept;
  /// The bytes of the buffers that limbs are read through: one for each reader, and one for a run that reads for
  /// itself.
  static std::size_t buffer_bytes(const EvaluationKeyFile& file, const KeyReading& reading) noexcept;
  bool is_ours() const noexcept { return process_ == getpid(); }

  /// Views of keys of the file at a level.
  std::vector<const KeyView*> views(const std::vector<std::size_t>& keys, Level level);
  /// Adds the windows of a way through the limbs of some keys.
  void announce(const std::vector<const KeyView*>& keys, KeyLimbWindows& windows);
  /// Lets readers go on to the windows of a run that there is room for.
  void advance(KeyLimbWindows& windows);
  /// Waits until the limbs of the first window are there. Throws what reading throws, lw::Error(kIo) after the
  /// deadline, and what tick does.
  void wait(KeyLimbWindows& windows, const Tick& tick);
  /// Retires the first window, which has been used; readers go on.
  void retire_first(KeyLimbWindows& windows);
  /// Retires all windows of a run that ends early, or that has none left.
  void retire_all(KeyLimbWindows& windows) noexcept;

  /// Ends the reader threads.
  void close() noexcept;
  KeyTraffic traffic() const;

 private:
  /// A run that waits.
  struct Stall {
    std::chrono::steady_clock::time_point start, told;
    const Tick& tick;
  };

  void claim_next(KeyLimbWindows& windows);
  /// Whether a window of a run may get slots, by its place among those of the run.
  bool may_claim(const KeyLimbWindows& windows, std::size_t place) const;
  void wait_for_slots(std::unique_lock<std::mutex>& lock, KeyLimbWindows& windows, Stall& stall);
  void wait_for_limbs(std::unique_lock<std::mutex>& lock, const KeyLimbWindows& windows, Stall& stall);
  /// Reports a wait, with the lock open; whoever runs may cancel.
  void look_up(std::unique_lock<std::mutex>& lock, Stall& stall);
  void start_readers();
  void work() noexcept;
  /// Reads a limb that is wanted while the lock is open. Throws what reading throws, the limb being wanted again.
  void read(std::unique_lock<std::mutex>& lock, KeyLimb& key_limb, bool is_ahead, std::vector<std::uint8_t>& buffer);
  /// Limbs that are wanted next, and that the system is to begin to read: none as long as it has all in its cache.
  std::vector<const KeyLimb*> ask_ahead();
  KeyLimb* find_wanted_limb(const KeyLimbWindow& window) const;
  static bool is_ready(const KeyLimbWindow& window);
  LimbView slot_of(KeyLimb& key_limb);

  const pid_t process_ = getpid();
  const std::shared_ptr<const Context> context_;
  const std::shared_ptr<const EvaluationKeyFile> file_;
  const KeyReading reading_;
  const KeyReadObserver on_read_;
  const KeyWaitObserver on_wait_;
  mutable std::mutex mutex_;  // guards everything below; not the contents of slots that are being read or in use
  std::condition_variable wake_;
  KeySlots key_slots_;
  std::deque<RnsPolys> slots_;
  std::deque<KeyLimb*> wanted_;                // by readers, in order; some may be there by now
  std::deque<const KeyLimbWindows*> waiting_;  // runs that have no window, in the order in which they get their first
  std::uint64_t num_retired_ = 0;
  std::uint64_t loads_ = 0, prefetched_ = 0, stalls_ = 0, stall_ns_ = 0;
  std::size_t asks_ = 0;  // reads to come that ask ahead
  bool closed_ = false, has_started_ = false;
  std::vector<std::thread> readers_;
};

}  // namespace lw
