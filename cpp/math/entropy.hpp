// Random seeds from the system, memory for secrets, and its erasure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace lw {

/// 32 fresh bytes of getrandom(2). Throws lw::Error(kIo) if the system has none to give.
std::array<std::uint8_t, 32> os_entropy();

/// Overwrites memory with zeros in a way the compiler may not remove.
void wipe(void* data, std::size_t bytes) noexcept;

/// Zeroed whole pages, locked in memory if the limits of the process allow it, and left out of core dumps.
/// Throws lw::Error(kOutOfMemory).
void* allocate_secret_pages(std::size_t bytes);
/// Wipes and returns pages of allocate_secret_pages; `bytes` as given there.
void free_secret_pages(void* data, std::size_t bytes) noexcept;

/// Owning array for secret values, zero at first, wiped when freed. Move only.
template <typename T>
class SecretBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  SecretBuffer() = default;
  explicit SecretBuffer(std::size_t size)
      : data_(static_cast<T*>(allocate_secret_pages(bytes_of(size)))), size_(size) {}
  SecretBuffer(SecretBuffer&& other) noexcept { swap(other); }
  SecretBuffer& operator=(SecretBuffer&& other) noexcept {
    SecretBuffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  SecretBuffer(const SecretBuffer&) = delete;
  SecretBuffer& operator=(const SecretBuffer&) = delete;
  ~SecretBuffer() {
    if (data_ != nullptr) free_secret_pages(data_, size_ * sizeof(T));
  }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](std::size_t i) noexcept { return data_[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  std::span<T> span() noexcept { return {data_, size_}; }
  std::span<const T> span() const noexcept { return {data_, size_}; }
  void swap(SecretBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  /// Saturates, so that an impossible size fails in the allocation instead of wrapping.
  static constexpr std::size_t bytes_of(std::size_t size) noexcept {
    constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
    return size > kMax / sizeof(T) ? kMax : size * sizeof(T);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace lw
