// Keys that stay in their file until they are needed, at the level they are needed at, and leave memory again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "exec/providers.hpp"
#include "rlwe/key_files.hpp"

namespace lw {

/// What has been going on, for reports and tests.
struct KeyTraffic {
  std::size_t resident_bytes = 0;   // keys in memory, leased ones included
  std::size_t peak_bytes = 0;       // the most there were
  std::uint64_t loads = 0;          // keys read, by whomever
  std::uint64_t prefetched = 0;     // of these, in the background
  std::uint64_t waits = 0;          // acquisitions that waited for a read, of their key or of one in the way
  std::uint64_t touched_bytes = 0;  // of the file
};

/// Told before a key is read, on the thread that reads it and without a lock held: its number in the file, and whether
/// that is ahead of its use. What it throws fails the read.
using KeyReadObserver = std::function<void(std::size_t key, bool is_ahead)>;

/// Leases of keys of a file under a byte budget. Keys nobody uses make room, least recently used first; those in use
/// may exceed the budget together, and are let go of when given back. Prefetching happens on a thread of its own, in
/// the order asked for, as far as there is room: a key that waits for its first use is never pushed out by another
/// prefetch. It never makes keys exceed the budget: whoever acquires a key waits for a read ahead that is in its way.
/// If it fails, acquire() meets the error by itself. A child made by fork starts with nothing in memory. Safe to share
/// between threads; leases may outlive it.
class MappedKeys final : public KeyProvider {
 public:
  MappedKeys(std::shared_ptr<const Context> context, const std::string& path, std::size_t budget_bytes,
             KeyReadObserver on_read = {});
  ~MappedKeys() override;
  MappedKeys(const MappedKeys&) = delete;
  MappedKeys& operator=(const MappedKeys&) = delete;

  const KeySetId& id() const override { return file_->id(); }
  const Fingerprint& parameters() const override { return file_->parameters(); }
  bool has(const KeySpec& spec) const override { return file_->find(spec).has_value(); }
  void prefetch(const KeySpec& spec) override;
  /// Also throws what reading the file throws.
  KeyLease acquire(const KeySpec& spec) override;

  const EvaluationKeyFile& file() const noexcept { return *file_; }
  KeyTraffic traffic() const;

 private:
  class Store;
  Store& store() const;

  std::shared_ptr<const Context> context_;
  std::shared_ptr<const EvaluationKeyFile> file_;
  std::size_t budget_bytes_;
  KeyReadObserver on_read_;
  mutable std::atomic<std::shared_ptr<Store>*> store_ = nullptr;  // of this process
};

}  // namespace lw
