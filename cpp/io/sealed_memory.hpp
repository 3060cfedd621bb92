// Memory that nobody can change any more, which processes of one user share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "io/file.hpp"

namespace lw {

/// Bytes that were written once, and are the same until the last process that has them ends. A mapped file is not: who
/// may write it can change what was verified, and who cuts it short ends its readers by SIGBUS. So this is a file
/// without a place (memfd_create), sealed against every change, which also the process that made it cannot undo. Others
/// of the same user find it by its name among the open files of its holders. Where the system has none of this, it is
/// memory of this process alone. Safe to share between threads; a child made by fork has it too.
class SealedMemory {
 public:
  /// Takes bytes at an offset.
  using Sink = std::function<void(std::uint64_t offset, std::span<const std::uint8_t> bytes)>;

  /// What another process of this user has sealed under this name, if it is as long; else nullptr. Who finds it decides
  /// whether it is what he wants: it does not change after that.
  static std::shared_ptr<const SealedMemory> find(const std::string& name, std::uint64_t bytes);
  /// New memory that `write` fills before it is sealed. Throws lw::Error(kOutOfMemory), and what `write` throws.
  static std::shared_ptr<const SealedMemory> make(const std::string& name, std::uint64_t bytes,
                                                  const std::function<void(const Sink&)>& write);

  SealedMemory(FileDescriptor file, const std::uint8_t* data, std::uint64_t bytes) noexcept
      : file_(std::move(file)), data_(data), size_(bytes) {}
  ~SealedMemory();
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;

  std::span<const std::uint8_t> bytes() const noexcept { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  FileDescriptor file_;  // stays open, so that others find it
  const std::uint8_t* data_;
  std::uint64_t size_;
};

}  // namespace lw
