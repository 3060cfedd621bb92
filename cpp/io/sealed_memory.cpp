#include "io/sealed_memory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "io/file_calls.hpp"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

namespace lw {
namespace {

// Of linux/memfd.h and linux/fcntl.h, which not every C library has.
constexpr unsigned kCloseOnExec = 1, kMayBeSealed = 2;
constexpr int kAddSeals = 1033, kGetSeals = 1034;
constexpr int kAllSeals = 1 | 2 | 4 | 8;  // no more seals, not shorter, not longer, no writes

FileDescriptor new_memory_file([[maybe_unused]] const std::string& name) noexcept {
#if defined(SYS_memfd_create)
  return FileDescriptor(static_cast<int>(::syscall(SYS_memfd_create, name.c_str(), kCloseOnExec | kMayBeSealed)));
#else
  return FileDescriptor();
#endif
}

bool is_sealed([[maybe_unused]] int fd) noexcept {
#if defined(__linux__)
  return (::fcntl(fd, kGetSeals) & kAllSeals) == kAllSeals;
#else
  return false;
#endif
}

[[noreturn]] void fail_memory(std::uint64_t bytes) {
  throw Error(ErrorKind::kOutOfMemory, "no memory for " + std::to_string(bytes) + " bytes that processes share");
}

std::shared_ptr<const SealedMemory> mapped(FileDescriptor file, std::uint64_t bytes) {
#if defined(__linux__)
  constexpr int kFlags = MAP_SHARED | MAP_POPULATE;  // else the first run has the page faults
#else
  constexpr int kFlags = MAP_SHARED;
#endif
  void* data = ::mmap(nullptr, bytes, PROT_READ, kFlags, file.get(), 0);
  if (data == MAP_FAILED) return nullptr;
  return std::make_shared<SealedMemory>(std::move(file), static_cast<const std::uint8_t*>(data), bytes);
}

std::shared_ptr<const SealedMemory> in_this_process(std::uint64_t bytes,
                                                    const std::function<void(const SealedMemory::Sink&)>& write) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) fail_memory(bytes);
  auto memory = std::make_shared<SealedMemory>(FileDescriptor(), static_cast<const std::uint8_t*>(data), bytes);
  write([&](std::uint64_t offset, std::span<const std::uint8_t> part) {
    std::memcpy(static_cast<std::uint8_t*>(data) + offset, part.data(), part.size());
  });
  (void)::mprotect(data, bytes, PROT_READ);
  return memory;
}

bool is_number(std::string_view name) { return name.find_first_not_of("0123456789") == std::string_view::npos; }

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

/// The sealed file of this name and size that a process has open, if it is one of this user.
FileDescriptor sealed_file_of(const std::string& process, const std::string& link, std::uint64_t bytes) {
  const std::string open_files = "/proc/" + process + "/fd";
  struct stat status;
  if (::stat(open_files.c_str(), &status) != 0 || status.st_uid != ::geteuid()) return {};
  const Folder listing(::opendir(open_files.c_str()), ::closedir);
  if (listing == nullptr) return {};
  std::string target(link.size() + 1, '\0');
  while (const dirent* entry = ::readdir(listing.get())) {
    const ssize_t length = ::readlinkat(::dirfd(listing.get()), entry->d_name, target.data(), target.size());
    if (length < 0 || std::string_view(target).substr(0, static_cast<std::size_t>(length)) != link) continue;
    FileDescriptor file(::openat(::dirfd(listing.get()), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) continue;
    const bool is_ours = status.st_uid == ::geteuid() && static_cast<std::uint64_t>(status.st_size) == bytes;
    if (is_ours && is_sealed(file.get())) return file;
  }
  return {};
}

}  // namespace

std::shared_ptr<const SealedMemory> SealedMemory::find(const std::string& name, std::uint64_t bytes) {
  const Folder processes(::opendir("/proc"), ::closedir);
  if (processes == nullptr) return nullptr;
  const std::string link = "/memfd:" + name + " (deleted)";
  while (const dirent* entry = ::readdir(processes.get())) {
    if (!is_number(entry->d_name)) continue;
    FileDescriptor file = sealed_file_of(entry->d_name, link, bytes);
    if (file.get() >= 0) return mapped(std::move(file), bytes);
  }
  return nullptr;
}

std::shared_ptr<const SealedMemory> SealedMemory::make(const std::string& name, std::uint64_t bytes,
                                                       const std::function<void(const Sink&)>& write) {
  FileDescriptor file = new_memory_file(name);
  if (file.get() < 0) return in_this_process(bytes, write);
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) fail_memory(bytes);
  // Written by calls, not through a mapping: where memory runs out, these fail, and that would be a SIGBUS.
  write([&](std::uint64_t offset, std::span<const std::uint8_t> part) {
    try {
      write_all(file.get(), offset, part, name);
    } catch (const IoError&) {
      fail_memory(bytes);
    }
  });
  if (::fcntl(file.get(), kAddSeals, kAllSeals) != 0) return in_this_process(bytes, write);
  if (auto memory = mapped(std::move(file), bytes)) return memory;
  fail_memory(bytes);
}

SealedMemory::~SealedMemory() { (void)::munmap(const_cast<std::uint8_t*>(data_), size_); }

}  // namespace lw
