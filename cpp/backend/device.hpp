// The device seam: memory, queues, events; and what a backend is. Every device there is computes in host memory
// and at once: its buffers are read and written by address, and its events are always done.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/kernels.hpp"

namespace lw {

class Device;

/// What the kernels of a ring share: each backend derives its own and keeps its tables and threads there. A call on it
/// is done when it returns, so it has no order of its own.
class Queue {
 public:
  virtual ~Queue() = default;
};

/// Owning device memory; returned to its device when destroyed, which it keeps alive until then: keys and
/// ciphertexts may outlive the context that made them. Move only.
class Buffer {
 public:
  Buffer() = default;
  Buffer(void* data, std::size_t bytes, std::shared_ptr<Device> device) noexcept
      : data_(data), bytes_(bytes), device_(std::move(device)) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  void* data() const noexcept { return data_; }
  Word* words() const noexcept { return static_cast<Word*>(data_); }
  std::size_t bytes() const noexcept { return bytes_; }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(device_, other.device_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::shared_ptr<Device> device_;
};

/// A point between the calls on a queue. Every queue there is is synchronous: what was called before is done.
struct Event {
  std::uint64_t ticket = 0;
};

/// What a device holds of the system's memory, in bytes.
struct MemoryUse {
  std::size_t held;        // got and not given back
  std::size_t idle;        // whole pages of it that no buffer uses
  std::uint64_t fresh;     // got in all, each time with the page faults of its first use
  std::uint64_t returned;  // given back in all
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const noexcept = 0;
  /// At least `bytes` of uninitialised memory, aligned to 64 bytes. Throws lw::Error(kOutOfMemory).
  virtual Buffer allocate(std::size_t bytes) = 0;
  /// The same one for every index, and for all threads.
  virtual Queue& queue(int index) = 0;
  /// Both do nothing in every device there is, and only the loop of the micro-benchmarks calls them: code that needs a
  /// result takes it after the call that makes it.
  virtual Event record(Queue& queue) = 0;
  virtual void wait(Queue& queue, const Event& event) = 0;
  /// Bytes of live buffers now, and the most there were since the last reset_peak.
  virtual std::size_t live_bytes() const noexcept = 0;
  virtual std::size_t peak_bytes() const noexcept = 0;
  virtual void reset_peak() noexcept = 0;

  virtual MemoryUse memory() const noexcept = 0;
  /// Moves the limit up to which freed memory stays, for the next buffers; see Reserve.
  virtual void keep(std::ptrdiff_t more_bytes) noexcept = 0;
  /// A moment, and the bytes of idle memory that was in use at some time since then.
  virtual std::uint64_t now() noexcept = 0;
  virtual std::size_t idle_since(std::uint64_t moment) noexcept = 0;

 private:
  friend class Buffer;
  virtual void release(void* data, std::size_t bytes) noexcept = 0;
};

inline Buffer::~Buffer() {
  if (data_ != nullptr) device_->release(data_, bytes_);
}

/// Freed memory that a device keeps for someone's next buffers, beside the little that it keeps anyway.
class Reserve {
 public:
  explicit Reserve(Device& device) : device_(device.shared_from_this()) {}
  ~Reserve() { resize(0); }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

  std::size_t bytes() const noexcept { return bytes_; }
  void resize(std::size_t bytes) noexcept {
    const std::size_t before = bytes_.exchange(bytes);
    device_->keep(static_cast<std::ptrdiff_t>(bytes - before));
  }

 private:
  std::shared_ptr<Device> device_;
  std::atomic<std::size_t> bytes_ = 0;
};

/// What residues are at rest, and where: kernels of a backend take rows of its form, whichever ring made them.
struct RowForm {
  std::string_view words, device;  // of literals

  friend bool operator==(const RowForm&, const RowForm&) = default;
};

/// A device and its kernels, set up for one ring (degree and all its primes, by limb number).
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const noexcept = 0;
  virtual RowForm form() const noexcept = 0;
  /// Words between rows.
  virtual std::size_t row_stride() const noexcept = 0;
  virtual const Kernels& kernels() const noexcept = 0;
  virtual Device& device() noexcept = 0;
  /// Threads that share a batch loop, the calling one included.
  virtual unsigned threads() const noexcept = 0;
};

/// name: one of backend_names() or backend_variants(), or "auto", the fastest that runs here and takes these primes.
/// threads: 0 = one per core. Throws lw::Error(kValue) for an unknown name, or one that cannot serve.
std::unique_ptr<Backend> make_backend(std::string_view name, std::uint32_t ring_degree,
                                      const std::vector<std::uint64_t>& primes, unsigned threads);
/// The backends that run on this machine, fastest first.
std::vector<std::string> backend_names();
/// Backends that are one of these with fixed instructions, best first, and whether this machine has those.
std::vector<std::pair<std::string, bool>> backend_variants();

}  // namespace lw
