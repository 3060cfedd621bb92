// Signed integers in memory of a device, from which residues modulo any of its primes are made there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "ring/ring.hpp"

namespace lw {

/// Public coefficients, a limb at most: all N, or those at the multiples of N / size; of as few bytes each as a view
/// may have, and on the host half of them if they are mirrored, as those of real slots are. Never changed, so that
/// several queues may read them.
class Integers {
 public:
  /// A power of two of them up to N, of magnitude < 2^62; brought to the ring's device on the running queue. Throws
  /// lw::Error(kOutOfMemory), kDevice.
  Integers(const Ring& ring, std::span<const std::int64_t> values);
  /// Those of a view, in memory that holds as much as it reads; on the host.
  Integers(const IntegerView& form, Buffer memory) noexcept
      : count_(form.count), width_(form.width), is_mirrored_(form.is_mirrored), buffer_(std::move(memory)) {}

  std::size_t size() const noexcept { return count_; }
  /// Bytes that they take on the device, which gives no less than kLeastBytes.
  std::size_t num_bytes() const noexcept { return bytes_of(buffer_.bytes()); }
  /// Bytes that a view reads.
  std::size_t used_bytes() const noexcept { return buffer_.bytes(); }
  /// A view of the integers for calls on the running queue.
  IntegerView view() const noexcept { return {buffer_.to_read(), count_, width_, is_mirrored_}; }

  /// Bytes that a device gives for this many.
  static std::size_t bytes_of(std::size_t bytes) noexcept { return bytes < kLeastBytes ? kLeastBytes : bytes; }

 private:
  static constexpr std::size_t kLeastBytes = 512;

  std::size_t count_;
  std::uint32_t width_;
  bool is_mirrored_;
  Buffer buffer_;
};

}  // namespace lw
