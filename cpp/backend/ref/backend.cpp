#include "backend/ref/backend.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "backend/ref/kernels.hpp"
#include "backend/ref/queue.hpp"
#include "math/error.hpp"

namespace lw {
namespace ref {
namespace {

constexpr Kernels kKernels = {
    .ntt = ntt,
    .intt = intt,
    .add = add,
    .sub = sub,
    .neg = neg,
    .mul = mul,
    .mul_add = mul_add,
    .mul_scalar = mul_scalar,
    .add_scalar = add_scalar,
    .sub_scale = sub_scale,
    .dot = dot,
    .automorphism = automorphism,
    .lift = lift,
    .key_switch = key_switch,
    .diag_sums = diag_sums,
    .mod_down = mod_down,
    .key_switch_scratch = key_switch_scratch,
    .diag_sums_scratch = diag_sums_scratch,
    .mod_down_scratch = mod_down_scratch,
    .import_signed = import_signed,
    .import_residues = import_residues,
    .export_residues = export_residues,
    .expand_uniform = expand_uniform,
    .embed = embed,
    .unembed = unembed,
};

/// Freed blocks by size, kept for the next request of that size: the C library would return blocks of a megabyte to
/// the system each time, and the page faults of getting them back cost more than the arithmetic on them. No call waits:
/// where another thread holds the lock, the C library serves, so that a child forked meanwhile does not wait for ever.
class FreeBlocks {
 public:
  ~FreeBlocks() { free_all(); }
  /// A kept block of this size, or nullptr.
  void* take(std::size_t bytes) noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return nullptr;
    const auto place = blocks_.find(bytes);
    if (place == blocks_.end() || place->second.empty()) return nullptr;
    void* block = place->second.back();
    place->second.pop_back();
    kept_bytes_ -= bytes;
    return block;
  }
  /// Keeps a block, or frees it where enough are kept.
  void give(void* block, std::size_t bytes) noexcept {
    {
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock && kept_bytes_ + bytes <= kMostKept) {
        try {
          blocks_[bytes].push_back(block);
          kept_bytes_ += bytes;
          return;
        } catch (const std::bad_alloc&) {  // no room for the list: free the block instead
        }
      }
    }
    std::free(block);
  }
  /// Frees what is kept, for a request of another size that the system refused.
  void clear() noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) free_all();
  }

 private:
  void free_all() noexcept {
    for (auto& [bytes, blocks] : blocks_) {
      for (void* block : blocks) std::free(block);
    }
    blocks_.clear();
    kept_bytes_ = 0;
  }

  static constexpr std::size_t kMostKept = std::size_t{256} << 20;

  std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> blocks_;
  std::size_t kept_bytes_ = 0;
};

/// Host memory.
class RefDevice final : public Device {
 public:
  RefDevice(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads)
      : queue_(ring_degree, primes, threads) {}

  std::string_view name() const noexcept override { return "ref"; }
  unsigned threads() const noexcept { return queue_.pool.threads(); }

  Buffer allocate(std::size_t bytes) override {
    const std::size_t size = rounded(bytes);
    void* data = free_.take(size);
    if (data == nullptr && size >= bytes) data = fresh(size);
    if (data == nullptr) {
      throw Error(ErrorKind::kOutOfMemory, "ref device: no memory for " + std::to_string(bytes) + " bytes, " +
                                               std::to_string(live_bytes()) + " in use; lower the memory budget");
    }
    const std::size_t live = live_.fetch_add(bytes) + bytes;
    std::size_t peak = peak_.load();
    while (peak < live && !peak_.compare_exchange_weak(peak, live)) {
    }
    return Buffer(data, bytes, shared_from_this());
  }

  Queue& queue(int) override { return queue_; }
  Event record(Queue&) override { return {}; }
  void wait(Queue&, const Event&) override {}
  void copy(Queue&, void* to, const void* from, std::size_t bytes) override { std::memmove(to, from, bytes); }

  std::size_t live_bytes() const noexcept override { return live_.load(); }
  std::size_t peak_bytes() const noexcept override { return peak_.load(); }
  void reset_peak() noexcept override { peak_.store(live_.load()); }

 private:
  void release(void* data, std::size_t bytes) noexcept override {
    live_.fetch_sub(bytes);
    free_.give(data, rounded(bytes));
  }

  void* fresh(std::size_t size) noexcept {
    if (void* data = std::aligned_alloc(kAlignment, size)) return data;
    free_.clear();
    return std::aligned_alloc(kAlignment, size);
  }

  static constexpr std::size_t kAlignment = 64;
  static std::size_t rounded(std::size_t bytes) noexcept {
    return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  }

  RefQueue queue_;
  FreeBlocks free_;
  std::atomic<std::size_t> live_ = 0;
  std::atomic<std::size_t> peak_ = 0;
};

class RefBackend final : public Backend {
 public:
  RefBackend(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads)
      : device_(std::make_shared<RefDevice>(ring_degree, primes, threads)) {}

  std::string_view name() const noexcept override { return "ref"; }
  const Kernels& kernels() const noexcept override { return kKernels; }
  Device& device() noexcept override { return *device_; }
  unsigned threads() const noexcept override { return device_->threads(); }

 private:
  std::shared_ptr<RefDevice> device_;
};

}  // namespace
}  // namespace ref

std::unique_ptr<Backend> make_ref_backend(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes,
                                          unsigned threads) {
  return std::make_unique<ref::RefBackend>(ring_degree, primes, threads);
}

}  // namespace lw
