// Files: whole ones read through a mapping, and new ones that appear under
// their name complete or not at all.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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
  /// The open file, for what else the system says of it; -1 for none.
  int descriptor() const noexcept { return file_.get(); }
  /// Throws lw::Error(kFormat) if the file is no longer as long as it was: pages past its end would be a SIGBUS.
  void check_size() const;
  /// Reads a part of the file by itself, past the mapping; false if the system had to wait for the disk. Throws
  /// lw::Error(kFormat) if the file has become too short, IoError.
  bool read_at(std::uint64_t offset, std::span<std::uint8_t> to) const;
  /// Lets the system start to read a part of the file. Nothing is read ahead but for this.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  void swap(MappedFile& other) noexcept;

 private:
  std::string path_;
  FileDescriptor file_;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A file under construction, which takes its bytes until it is complete. Members throw IoError.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  virtual ~OutputFile() = default;

  virtual void write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) = 0;
  /// Makes the file durable and gives it its name. Once.
  virtual void commit() = 0;
};

/// A file under construction, in the same folder, which commit() makes durable and puts in the place of what was there.
/// It has no name until then, so that nothing is left of it however the process ends. A file that exists is replaced by
/// way of a name, ".latticework-<random>.tmp", that lasts for an instant; where the system has no files without names,
/// the file under construction has such a name all the time. It is locked (flock) as long as somebody writes it. Only
/// regular files are replaced: devices, pipes, sockets, folders and symbolic links are refused. Members throw IoError.
class AtomicFile : public OutputFile {
 public:
  /// mode: permission bits of the new file, less those of the umask, from the moment that it exists. `bytes` are
  /// reserved and zero at first. replaces: whether a file may be in its place already. unnamed: whether to try without
  /// a name.
  AtomicFile(std::string path, mode_t mode, std::uint64_t bytes, bool replaces = true, bool unnamed = true);
  ~AtomicFile() override;

  void write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) override;
  void commit() override;

 private:
  AtomicFile(std::string path, mode_t mode, bool replaces, bool unnamed);
  bool open_unnamed(mode_t mode);
  void open_named(mode_t mode);
  bool link_to(const std::string& name) const;
  std::string temporary_name() const;
  [[noreturn]] void fail(const char* action, int code) const;
  [[noreturn]] void refuse_taken() const;

  bool replaces_;
  std::string path_;
  std::string folder_;
  std::string temporary_;
  FileDescriptor file_;
};

/// One AtomicFile of these bytes.
void write_file_atomic(const std::string& path, std::span<const std::uint8_t> bytes, mode_t mode, bool unnamed = true);

/// Throws IoError for a path at which something else than a regular file is.
void require_replaceable(const std::string& path);

/// Removes what ended processes of this user left of files under construction; their names. Those that are being
/// written are locked, and stay.
std::vector<std::string> remove_leftovers(const std::string& folder);

}  // namespace lw
