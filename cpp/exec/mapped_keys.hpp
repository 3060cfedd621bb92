// Keys that stay in their file: limbs of them are in memory while an operation goes through their limbs, within a
// budget.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "exec/providers.hpp"
#include "rlwe/key_files.hpp"

namespace lw {

/// Counters for reports and tests. A limb is both halves of one digit of a key at one limb.
struct KeyTraffic {
  std::size_t resident_bytes = 0;   // of limbs, and what is being read into
  std::size_t peak_bytes = 0;       // the most there were
  std::size_t held_limbs = 0;       // by runs, or not there yet: none when nothing is under way
  std::size_t limb_bytes = 0;       // of one limb
  std::uint64_t loads = 0;          // limbs read, by whomever
  std::uint64_t hits = 0;           // limbs of windows that were there already, or being read
  std::uint64_t prefetched = 0;     // of these, by readers
  std::uint64_t stalls = 0;         // windows of limbs that were not there when they were needed
  std::uint64_t stall_ns = 0;       // until they were
  std::uint64_t touched_bytes = 0;  // of the file
};

/// A callback before limbs of a key are read, on the thread that reads them and without a lock held: the number of the
/// key in the file, and whether that is ahead of its use. What it throws fails the read.
using KeyReadObserver = std::function<void(std::size_t key, bool is_ahead)>;

/// A callback at intervals while a run waits for limbs of keys, on the thread of the run and without a lock held: for
/// how long it has waited. What it throws ends the wait.
using KeyWaitObserver = std::function<void(std::chrono::nanoseconds waited)>;

/// Options for reading keys.
struct KeyReading {
  std::size_t budget_bytes;     // of all limbs in memory, those that are being read included
  unsigned readers = 1;         // threads that read ahead; 0: an operation reads what it needs when it needs it
  std::size_t most_limbs = 16;  // of a window
  std::chrono::milliseconds deadline{60'000};   // of a wait for a reader
  std::chrono::milliseconds tell_every{1'000};  // that a wait lasts
};

class KeyStore;

/// Limbs of keys of a file under a byte budget, which holds at every moment: runs announce the windows of limbs that
/// they will go through, slots are given to the next ones, and readers fill them while earlier ones are in use. Which
/// limbs stay is decided when a window has been used, in the order of the runs, so that no clock changes what is read.
/// A window that a reader has not begun is read by who needs it: nothing depends on readers but time. They report no
/// errors: who needs the limbs reads them again and meets them. A child made by fork starts with nothing in memory.
/// Safe to share between threads and runs; a run may outlive it.
class MappedKeys final : public KeyProvider {
 public:
  MappedKeys(std::shared_ptr<const Context> context, const std::string& path, KeyReading reading,
             KeyReadObserver on_read = {}, KeyWaitObserver on_wait = {});
  /// The same keys for another context with the same parameters, in whose memory they have the same budget anew.
  MappedKeys(const MappedKeys& of, std::shared_ptr<const Context> context);
  ~MappedKeys() override;
  MappedKeys(const MappedKeys&) = delete;
  MappedKeys& operator=(const MappedKeys&) = delete;

  const KeySetId& id() const override { return file_->id(); }
  const Fingerprint& parameters() const override { return file_->parameters(); }
  bool has(const KeySpec& spec) const override { return file_->find(spec).has_value(); }
  std::size_t budget_bytes() const noexcept override { return reading_.budget_bytes; }
  std::size_t least_bytes(const KeyUse& use) const override;
  std::unique_ptr<KeyRun> start(std::unique_ptr<KeyUses> uses, Tick tick) override;

  const EvaluationKeyFile& file() const noexcept { return *file_; }
  KeyTraffic traffic() const;

 private:
  const std::shared_ptr<KeyStore>& store() const;

  std::shared_ptr<const Context> context_;
  std::string path_;
  std::shared_ptr<const EvaluationKeyFile> file_;
  KeyReading reading_;
  KeyReadObserver on_read_;
  KeyWaitObserver on_wait_;
  mutable std::atomic<std::shared_ptr<KeyStore>*> store_ = nullptr;  // of this process
};

}  // namespace lw
