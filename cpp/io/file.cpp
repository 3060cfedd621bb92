#include "io/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "io/file_calls.hpp"
#include "math/entropy.hpp"

namespace lw {
namespace {

constexpr char kDigits[] = "0123456789abcdef";
constexpr std::string_view kPrefix = ".latticework-", kSuffix = ".tmp";
constexpr std::size_t kRandomBytes = 8;

std::string random_name() {
  std::string name(kPrefix);
  const auto random = os_entropy();
  for (std::size_t i = 0; i < kRandomBytes; ++i) {
    name += kDigits[random[i] >> 4];
    name += kDigits[random[i] & 15];
  }
  return name.append(kSuffix);
}

bool is_temporary(std::string_view name) {
  if (name.size() != kPrefix.size() + 2 * kRandomBytes + kSuffix.size()) return false;
  const std::string_view random = name.substr(kPrefix.size(), 2 * kRandomBytes);
  return name.starts_with(kPrefix) && name.ends_with(kSuffix) &&
         random.find_first_not_of(kDigits) == std::string_view::npos;
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

/// A name by which a file without one can be linked.
std::string name_of_descriptor(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

bool lock(int fd) noexcept { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

/// Reads what the system has in its cache: bytes read, 0 if it would have to wait for the disk, less than 0 if that
/// cannot be told.
ssize_t read_cached([[maybe_unused]] int fd, [[maybe_unused]] std::uint64_t offset,
                    [[maybe_unused]] std::span<std::uint8_t> to) noexcept {
#if defined(__GLIBC__) && defined(RWF_NOWAIT)  // musl has it since 1.2.5 only
  const iovec part = {to.data(), to.size()};
  const ssize_t got = ::preadv2(fd, &part, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  return got < 0 && errno == EAGAIN ? 0 : got;
#else
  return -1;
#endif
}

/// Whether a file still has a name: a sweep may have come before the lock.
bool is_linked(int fd) noexcept {
  struct stat status;
  return ::fstat(fd, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  FileDescriptor moved(std::move(other));
  std::swap(fd_, moved.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) (void)::close(fd_);
}

MappedFile::MappedFile(const std::string& path, std::uint64_t max_bytes) : path_(path) {
  // O_NONBLOCK: opening a pipe by mistake must fail below rather than wait for its writer.
  file_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file_.get() < 0) fail_io(path, "open", errno);
  struct stat status;
  if (::fstat(file_.get(), &status) != 0) fail_io(path, "inspect", errno);
  if (S_ISDIR(status.st_mode)) fail_io(path, "read", EISDIR);
  if (!S_ISREG(status.st_mode)) fail_io(path, "map what is not a regular file", EINVAL);
  const std::uint64_t size = static_cast<std::uint64_t>(status.st_size);
  if (size > max_bytes) {
    throw Error(ErrorKind::kFormat, path + ": the file has " + std::to_string(size) + " bytes, at most " +
                                        std::to_string(max_bytes) +
                                        " are accepted here; check that it is the right one");
  }
  if (size == 0) return;
  void* data = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, file_.get(), 0);
  if (data == MAP_FAILED) fail_io(path, "map", errno);
  (void)::madvise(data, static_cast<std::size_t>(size), MADV_RANDOM);
  data_ = static_cast<const std::uint8_t*>(data);
  size_ = static_cast<std::size_t>(size);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  MappedFile moved(std::move(other));
  swap(moved);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) (void)::munmap(const_cast<std::uint8_t*>(data_), size_);
}

void MappedFile::swap(MappedFile& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
}

void MappedFile::check_size() const {
  if (data_ == nullptr) return;
  struct stat status;
  if (::fstat(file_.get(), &status) != 0) fail_io(path_, "inspect", errno);
  if (static_cast<std::uint64_t>(status.st_size) != size_) {
    throw Error(ErrorKind::kFormat, path_ + ": the file had " + std::to_string(size_) +
                                        " bytes when it was opened and has " + std::to_string(status.st_size) +
                                        " now; do not change files in use, open it again");
  }
}

bool MappedFile::read_at(std::uint64_t offset, std::span<std::uint8_t> to) const {
  bool is_at_hand = true;
  while (!to.empty()) {
    ssize_t got = is_at_hand ? read_cached(file_.get(), offset, to) : 0;
    if (got <= 0) {
      is_at_hand = is_at_hand && got < 0;
      got = ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(offset));
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io(path_, "read", errno);
    if (got == 0) {
      check_size();
      fail_io(path_, "read", EIO);
    }
    offset += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return is_at_hand;
}

void MappedFile::will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  if (data_ == nullptr || offset > size_ || bytes > size_ - offset) return;
  const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = offset / page * page;
  (void)::madvise(const_cast<std::uint8_t*>(data_) + begin, static_cast<std::size_t>(offset + bytes - begin),
                  MADV_WILLNEED);
}

AtomicFile::AtomicFile(std::string path, mode_t mode, bool replaces, bool unnamed)
    : replaces_(replaces), path_(std::move(path)), folder_(folder_of(path_)) {
  require_replaceable(path_);
  if (!replaces_ && ::access(path_.c_str(), F_OK) == 0) refuse_taken();
  if (!unnamed || !open_unnamed(mode)) open_named(mode);
}

AtomicFile::AtomicFile(std::string path, mode_t mode, std::uint64_t bytes, bool replaces, bool unnamed)
    : AtomicFile(std::move(path), mode, replaces, unnamed) {
  if (bytes > 0) reserve_bytes(file_.get(), bytes, path_);
}

bool AtomicFile::open_unnamed(mode_t mode) {
  FileDescriptor file(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
  if (file.get() < 0 || !lock(file.get())) return false;
  if (::access(name_of_descriptor(file.get()).c_str(), F_OK) != 0) return false;  // no /proc: it could not be linked
  file_ = std::move(file);
  return true;
}

void AtomicFile::open_named(mode_t mode) {
  do {
    std::string temporary = temporary_name();
    file_ = FileDescriptor(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (file_.get() < 0) fail("create a file in its folder", errno);
    temporary_ = std::move(temporary);
  } while (lock(file_.get()) && !is_linked(file_.get()));
}

std::string AtomicFile::temporary_name() const { return (folder_ == "/" ? "" : folder_) + "/" + random_name(); }

/// Gives the file a name; false if it is taken.
bool AtomicFile::link_to(const std::string& name) const {
  const std::string from = temporary_.empty() ? name_of_descriptor(file_.get()) : temporary_;
  const int flags = temporary_.empty() ? AT_SYMLINK_FOLLOW : 0;
  if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), flags) == 0) return true;
  if (errno != EEXIST) fail("give the finished file its name", errno);
  return false;
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) (void)::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* action, int code) const { fail_io(path_, action, code); }

void AtomicFile::refuse_taken() const {
  throw IoError(EEXIST,
                path_ + ": is there already, and this file replaces no other; name a file that is not there yet");
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  write_all(file_.get(), offset, bytes, path_);
}

void AtomicFile::commit() {
  if (::fsync(file_.get()) != 0) fail("make durable", errno);
  require_replaceable(path_);
  if (!replaces_) {
    if (!link_to(path_)) refuse_taken();
  } else if (!temporary_.empty() || !link_to(path_)) {
    if (temporary_.empty()) {
      std::string temporary = temporary_name();
      if (!link_to(temporary)) fail("give the finished file its name", EEXIST);
      temporary_ = std::move(temporary);
    }
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename the finished file to its name", errno);
    temporary_.clear();
  }
  sync_folder_of(path_);
}

void write_file_atomic(const std::string& path, std::span<const std::uint8_t> bytes, mode_t mode, bool unnamed) {
  AtomicFile file(path, mode, bytes.size(), true, unnamed);
  file.write_at(0, bytes);
  file.commit();
}

void require_replaceable(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
  throw IoError(S_ISDIR(status.st_mode) ? EISDIR : EEXIST,
                path + ": is " + kind_of(status.st_mode) +
                    ", which is not replaced by a file; name a file that is not there yet, or a regular one");
}

std::vector<std::string> remove_leftovers(const std::string& folder) {
  std::vector<std::string> removed;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.c_str()), ::closedir);
  if (listing == nullptr) return removed;
  while (const dirent* entry = ::readdir(listing.get())) {
    if (!is_temporary(entry->d_name)) continue;
    const std::string path = folder + "/" + entry->d_name;
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status;
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) continue;
    const bool is_ours = S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
    if (is_ours && lock(file.get()) && ::unlink(path.c_str()) == 0) removed.push_back(entry->d_name);
  }
  return removed;
}

}  // namespace lw
