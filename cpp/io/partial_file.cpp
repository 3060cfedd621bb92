#include "io/partial_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "io/file_calls.hpp"

namespace lw {
namespace {

/// Whether the file still has this name: another process may have finished or removed it before the lock.
bool is_called(int fd, const std::string& name) noexcept {
  struct stat opened, named;
  return ::fstat(fd, &opened) == 0 && ::lstat(name.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

std::uint64_t size_of(int fd, const std::string& name) {
  struct stat status;
  if (::fstat(fd, &status) != 0) fail_io(name, "inspect", errno);
  return static_cast<std::uint64_t>(status.st_size);
}

bool read_all(int fd, std::uint64_t offset, std::span<std::uint8_t> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io(name, "read", errno);
    if (got == 0) return false;
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

PartialFile::PartialFile(std::string path) : path_(std::move(path)), name_(name_of(path_)) {
  require_replaceable(path_);
  require_replaceable(name_);
  do {
    file_ = FileDescriptor(::open(name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
    if (file_.get() < 0) fail_io(name_, "open or create it", errno);
    struct stat status;
    if (::fstat(file_.get(), &status) != 0) fail_io(name_, "inspect", errno);
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) {
      throw IoError(EPERM, name_ + ": is a file of another user, or none that holds data; name another folder");
    }
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      throw IoError(EBUSY, name_ + ": another process is writing this file; wait for it, or name another folder");
    }
  } while (!is_called(file_.get(), name_));
}

bool PartialFile::read_end(const std::string& path, std::span<std::uint8_t> bytes) {
  const std::string name = name_of(path);
  const FileDescriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT) return false;
  if (file.get() < 0) fail_io(name, "open", errno);
  const std::uint64_t size = size_of(file.get(), name);
  return size >= bytes.size() && read_all(file.get(), size - bytes.size(), bytes, name);
}

std::uint64_t PartialFile::size() const { return size_of(file_.get(), name_); }

void PartialFile::reserve(std::uint64_t content_bytes, std::uint64_t notes_bytes) {
  content_bytes_ = content_bytes;
  const bool was_empty = size() == 0;
  try {
    reserve_bytes(file_.get(), content_bytes + notes_bytes, path_);
  } catch (const IoError&) {
    if (was_empty) remove();
    throw;
  }
}

void PartialFile::clear() {
  if (::ftruncate(file_.get(), 0) != 0) fail_io(name_, "empty it", errno);
}

bool PartialFile::read_at(std::uint64_t offset, std::span<std::uint8_t> bytes) const {
  return read_all(file_.get(), offset, bytes, name_);
}

void PartialFile::write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  write_all(file_.get(), offset, bytes, name_);
}

void PartialFile::sync() const {
  if (::fsync(file_.get()) != 0) fail_io(name_, "make durable", errno);
}

void PartialFile::commit() {
  sync();  // first: who finds it without notes takes it for complete
  if (::ftruncate(file_.get(), static_cast<off_t>(content_bytes_)) != 0) fail_io(name_, "cut its notes off", errno);
  sync();
  require_replaceable(path_);
  if (::rename(name_.c_str(), path_.c_str()) != 0) fail_io(path_, "rename the finished file to its name", errno);
  sync_folder_of(path_);
}

void PartialFile::remove() {
  if (::unlink(name_.c_str()) != 0) fail_io(name_, "remove", errno);
}

}  // namespace lw
