// Files: whole ones read through a mapping, and new ones that appear under
// their name complete or not at all.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "math/error.hpp"

namespace lw {

/// kIo with the errno of the system call, so that Python raises FileNotFoundError and the like.
class IoError : public Error {
 public:
  IoError(int code, const std::string& message) : Error(ErrorKind::kIo, message), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// An open file descriptor, closed when destroyed. Move only.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

/// A regular file mapped read-only. Move only.
class MappedFile {
 public:
  MappedFile() = default;
  /// Throws IoError, and lw::Error(kFormat) if the file is longer than `max_bytes`.
  MappedFile(const std::string& path, std::uint64_t max_bytes);
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::uint8_t> bytes() const noexcept { return {data_, size_}; }
  /// Throws lw::Error(kFormat) if the file is no longer as long as it was: pages past its end would be a SIGBUS.
  void check_size() const;
  /// Lets the system start to read a part of the file. Nothing is read ahead but for this.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  void swap(MappedFile& other) noexcept;

 private:
  std::string path_;
  FileDescriptor file_;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A file under construction: a temporary ".latticework-<random>.tmp" in the same folder, which commit()
/// makes durable and renames. Removed again if destroyed before. Members throw IoError.
class AtomicFile {
 public:
  /// mode: permission bits of the new file, less those of the umask. `bytes` are reserved and zero at first.
  AtomicFile(std::string path, mode_t mode, std::uint64_t bytes);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes);
  void commit();

 private:
  AtomicFile(std::string path, mode_t mode);
  [[noreturn]] void fail(const char* action, int code) const;

  std::string path_;
  std::string folder_;
  std::string temporary_;
  FileDescriptor file_;
};

/// One AtomicFile of these bytes.
void write_file_atomic(const std::string& path, std::span<const std::uint8_t> bytes, mode_t mode);

}  // namespace lw
