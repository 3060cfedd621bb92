#include "io/file_calls.hpp"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>

#include "io/file.hpp"

namespace lw {

void fail_io(const std::string& path, const char* action, int code) {
  throw IoError(code, path + ": cannot " + action + ": " + ::strerror(code));
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void reserve_bytes(int fd, std::uint64_t bytes, const std::string& path) {
  const off_t length = static_cast<off_t>(bytes);
  int code = 0;
  do {
    code = ::fallocate(fd, 0, 0, length) == 0 ? 0 : errno;
  } while (code == EINTR);
  if (code == EOPNOTSUPP || code == ENOSYS) code = ::ftruncate(fd, length) == 0 ? 0 : errno;
  if (code != 0) fail_io(path, ("reserve " + std::to_string(bytes) + " bytes").c_str(), code);
}

void write_all(int fd, std::uint64_t offset, std::span<const std::uint8_t> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_io(path, "write", written == 0 ? EIO : errno);
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void sync_folder_of(const std::string& path) {
  const FileDescriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) fail_io(path, "make its name durable", errno);
}

}  // namespace lw
