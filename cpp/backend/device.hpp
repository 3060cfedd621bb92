// The device seam: memory and queues; and what a backend is. Nobody but a device and its kernels may read or write a
// buffer by its address, as it need not be memory of the host.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/client_kernels.hpp"
#include "backend/kernels.hpp"

namespace lw {

class Device;

/// An in-order queue of kernel calls on a device: each backend derives its own, with the tables of a ring. On a host a
/// call is done when it returns, so that its one queue serves all.
class Queue {
 public:
  virtual ~Queue() = default;
};

/// The number of the queue that what this thread calls goes to: that of the innermost QueueScope, or 0.
int running_queue() noexcept;

/// The number of a queue that nobody else has while it lives, unless there are more than 62 at a time.
class QueueNumber {
 public:
  QueueNumber() noexcept;
  ~QueueNumber();
  QueueNumber(const QueueNumber&) = delete;
  QueueNumber& operator=(const QueueNumber&) = delete;

  int value() const noexcept { return value_; }
  bool is_shared() const noexcept;

 private:
  int value_;
};

/// While it lives its thread has a queue of its own, or one whose number somebody has: a run, or a thread that prepares
/// what runs will read.
class QueueScope {
 public:
  QueueScope() noexcept;
  explicit QueueScope(const QueueNumber& number) noexcept;
  ~QueueScope();
  QueueScope(const QueueScope&) = delete;
  QueueScope& operator=(const QueueScope&) = delete;

 private:
  std::optional<QueueNumber> own_;
  int outer_;
};

/// Owning device memory; returned to its device when destroyed, which it keeps alive until then: keys and
/// ciphertexts may outlive the context that made them. Move only.
class Buffer {
 public:
  /// The queues that have a buffer in calls that may not be done yet: bit n of `all` for number n, and who wrote last.
  struct Uses {
    std::atomic<std::uint64_t> all = 0;
    std::atomic<int> writer = -1;
    std::shared_ptr<void> owner;  // to which the memory goes back; null: to the device
  };

  Buffer() = default;
  /// uses: for a device on which queues have to wait for each other.
  Buffer(void* data, std::size_t bytes, std::shared_ptr<Device> device, std::unique_ptr<Uses> uses = nullptr) noexcept
      : data_(data), bytes_(bytes), device_(std::move(device)), uses_(std::move(uses)) {}
  /// Memory of the host that nobody may write, and that is somebody else's.
  static Buffer read_only(std::span<const std::uint8_t> bytes) noexcept {
    return Buffer(const_cast<std::uint8_t*>(bytes.data()), bytes.size(), nullptr);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  /// The memory, for calls on the running queue, which happen after all calls on other queues that would conflict.
  const Word* to_read() const noexcept;
  Word* to_write() noexcept;
  std::size_t bytes() const noexcept { return bytes_; }
  bool is_read_only() const noexcept { return device_ == nullptr; }
  /// Whether its device failed, so that what is in it is lost.
  bool is_lost() const noexcept;
  /// Throws, if it is lost, as Device::check does.
  void check() const;
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(device_, other.device_);
    std::swap(uses_, other.uses_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Uses> uses_;
};

/// Limbs on their way between the host and a device: `bytes` of each, so far apart.
struct StridedCopy {
  void* to;
  const void* from;
  std::size_t bytes, limbs, to_step, from_step;
};

/// All that one run calls on a queue, noted once and then called again as a whole, as often as wanted. Everything is
/// called with the same addresses: what it read must stay, and its memory is its own. One thread at a time.
class Recording {
 public:
  virtual ~Recording() = default;
  /// The queue on which everything about it is to be called. Memory got there before `end` belongs to the recording.
  virtual const QueueNumber& queue() const noexcept = 0;
  /// Begins the recording: until `end`, calls on the queue are noted, and carried out a little later.
  virtual void begin() noexcept = 0;
  /// Stops noting: from now on calls are only carried out, and memory is that of all; what comes cannot be repeated.
  virtual void give_up() noexcept = 0;
  /// Whether all between was noted.
  virtual bool end() noexcept = 0;
  /// Calls it all again. `between`: now and then, and may throw, which leaves out the rest.
  virtual void replay(const std::function<void()>& between) = 0;
  /// Memory of the device that it holds.
  virtual std::size_t bytes() const noexcept = 0;
};

/// Moments on a queue, numbered from 0. One thread at a time.
class QueueClock {
 public:
  virtual ~QueueClock() = default;
  /// The number of the moment at which all is done that was called on the queue so far.
  virtual std::size_t mark() = 0;
  /// The number of marks that have come; after waiting for all, if `wait`. None more after a failure of the device.
  virtual std::size_t num_past(bool wait) = 0;
  /// Whether the device can say when.
  virtual bool is_timed() const noexcept = 0;
  /// The time of a moment that has come, in nanoseconds by the steady clock of the host.
  virtual std::uint64_t time_ns(std::size_t moment) const noexcept = 0;
};

/// Memory that a device can do without: its keeper is asked for it when memory runs out.
class Spare {
 public:
  virtual ~Spare() = default;
  virtual void drop() noexcept = 0;
};

/// Bytes of the system's memory that a device holds.
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
  /// Allocates at least `bytes` of uninitialised memory, aligned to 64 bytes, for any queue. Throws
  /// lw::Error(kOutOfMemory).
  virtual Buffer allocate(std::size_t bytes) = 0;
  /// The queue of a number from running_queue(), for any thread. Throws lw::Error(kOutOfMemory) where it has to be
  /// made.
  virtual Queue& queue(int number) = 0;
  /// Copies from the host, whose memory has been read when the call returns, and to the host, whose memory has been
  /// written.
  virtual void upload(Queue& queue, const StridedCopy& copy) = 0;
  /// Copies secret pieces of the host's memory, one after the other; no other copy is left when the call returns: it
  /// waits for the queue.
  virtual void upload_secret(Queue& queue, void* to, std::span<const std::span<const std::byte>> pieces) {
    for (const std::span<const std::byte> piece : pieces) {
      upload(queue, {to, piece.data(), piece.size(), 1, 0, 0});
      to = static_cast<std::byte*>(to) + piece.size();
    }
  }
  virtual void download(Queue& queue, const StridedCopy& copy) = 0;
  /// The host waits until all that was called on the queue is done. Throws as `check` does.
  virtual void synchronise(Queue& queue) = 0;
  /// Throws the error of a queue on which something failed, lw::Error(kOutOfMemory) or kDevice; does not wait.
  virtual void check(Queue& queue) = 0;
  /// Whether `check` throws.
  virtual bool has_failed() const noexcept = 0;
  /// Whether so much was called on a queue and is not done that whoever calls more should wait first: then what was
  /// called is soon done, and so is a run that is cancelled.
  virtual bool is_behind(Queue&) noexcept { return false; }
  /// Whether each kernel is to be called by itself, since somebody takes its time.
  virtual bool is_profiled() const noexcept { return false; }
  /// A clock for a queue; nullptr where calls are done when they return, so that the host's clock says all.
  virtual std::unique_ptr<QueueClock> clock(Queue&) { return nullptr; }
  /// Whether something is gained by recording runs.
  virtual bool can_record() const noexcept { return false; }
  /// A new recording of a run; nullptr where nothing is gained by it, or queues are scarce. One that would hold more
  /// than `most_bytes` of the device is given up.
  virtual std::unique_ptr<Recording> record(std::size_t) { return nullptr; }
  /// Asked to drop what it keeps when memory runs out, and by `trim`.
  virtual void add_spare(std::weak_ptr<Spare>) {}
  /// Bytes of live buffers now, and the most there were since the last reset_peak.
  virtual std::size_t live_bytes() const noexcept = 0;
  virtual std::size_t peak_bytes() const noexcept = 0;
  virtual void reset_peak() noexcept = 0;

  virtual MemoryUse memory() const noexcept = 0;
  /// Gives all memory back that no buffer uses, after waiting for what may still use it; a host keeps what `keep` says.
  virtual void trim() noexcept = 0;
  /// Moves the limit up to which freed memory stays, for the next buffers; see Reserve.
  virtual void keep(std::ptrdiff_t more_bytes) noexcept = 0;
  /// Begins a run. From the first begin_run to the last end_run the device keeps freed memory up to the peak of memory
  /// in use since then: a run that frees and asks again gets nothing anew, and its peak is no higher for that.
  virtual void begin_run() noexcept = 0;
  virtual void end_run() noexcept = 0;
  /// A moment, and the bytes of idle memory that was in use at some time since then.
  virtual std::uint64_t now() noexcept = 0;
  virtual std::size_t idle_since(std::uint64_t moment) noexcept = 0;

 private:
  friend class Buffer;
  /// Makes the running queue wait for others, as far as what it is about to do conflicts with their uses.
  virtual void order_read(Buffer::Uses& uses) noexcept = 0;
  virtual void order_write(Buffer::Uses& uses) noexcept = 0;
  /// uses: null, or those that whoever gets the memory next has to wait for.
  virtual void release(void* data, std::size_t bytes, const Buffer::Uses* uses) noexcept = 0;
};

inline const Word* Buffer::to_read() const noexcept {
  if (uses_ != nullptr) device_->order_read(*uses_);
  return static_cast<const Word*>(data_);
}

inline Word* Buffer::to_write() noexcept {
  if (uses_ != nullptr) device_->order_write(*uses_);
  return static_cast<Word*>(data_);
}

inline bool Buffer::is_lost() const noexcept { return device_ != nullptr && device_->has_failed(); }

inline void Buffer::check() const {
  if (is_lost()) device_->check(device_->queue(running_queue()));
}

inline Buffer::~Buffer() {
  if (data_ != nullptr && device_ != nullptr) device_->release(data_, bytes_, uses_.get());
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

/// The encoding of residues at rest and the memory that they are in: kernels of a backend take limbs of its form,
/// whichever ring made them.
struct ResidueForm {
  std::string_view words, device;  // of texts that stay
  std::uint64_t memory = 0;        // number of the memory that they are in: a device that failed starts with another

  bool is_on_host() const noexcept { return device == "host"; }
  friend bool operator==(const ResidueForm&, const ResidueForm&) = default;
};

/// Options of a device with memory of its own; without effect on the host.
struct DeviceOptions {
  std::int32_t number = 0;                  // which of the driver's devices
  std::uint64_t memory_bytes = UINT64_MAX;  // most that is got from the driver
  bool keeps_memory = true;                 // freed memory stays, to be used again
  bool is_synchronous = false;              // every kernel is waited for, so that an error names it
  bool replays = true;                      // runs may be recorded, and called again as a whole
  std::uint64_t account = 0;                // others have a limit of their own, and no memory in common

  auto operator<=>(const DeviceOptions&) const = default;
};

/// A device and its kernels, set up for one ring (degree and all its primes, by limb number).
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const noexcept = 0;
  virtual ResidueForm form() const noexcept = 0;
  /// Words between limbs.
  virtual std::size_t limb_stride() const noexcept = 0;
  virtual const Kernels& kernels() const noexcept = 0;
  /// What it does of a client's work; nullptr on the host, where the client does it.
  virtual const ClientKernels* client() const noexcept { return nullptr; }
  virtual Device& device() noexcept = 0;
  /// Threads that share a batch loop, the calling one included.
  virtual unsigned threads() const noexcept = 0;
};

/// name: one of backend_names() or backend_variants(), or "auto", the fastest that runs here and takes these primes.
/// threads: 0 = one per core. Throws lw::Error(kValue) for an unknown name, or one that cannot serve.
std::unique_ptr<Backend> make_backend(std::string_view name, std::uint32_t ring_degree,
                                      const std::vector<std::uint64_t>& primes, unsigned threads,
                                      const DeviceOptions& options = {});
/// The backends that run on this machine, fastest first; the last is the simulated GPU.
std::vector<std::string> backend_names();
/// Variants of a backend, best first, and whether they run on this machine: `cpu` with fixed instructions, `sim` with a
/// fixed arithmetic, in a fixed order of blocks and threads.
std::vector<std::pair<std::string, bool>> backend_variants(std::string_view of);

}  // namespace lw
