#include "math/entropy.hpp"

#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "math/error.hpp"

namespace lw {
namespace {

/// Whole pages holding `bytes`, at least one; 0 if there is no such number.
std::size_t page_bytes(std::size_t bytes) noexcept {
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t pages = bytes / page + (bytes % page != 0 || bytes == 0 ? 1 : 0);
  return pages > std::numeric_limits<std::size_t>::max() / page ? 0 : pages * page;
}

}  // namespace

std::array<std::uint8_t, 32> os_entropy() {
  std::array<std::uint8_t, 32> bytes{};
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (got == 0 || errno != EINTR) {
      wipe(bytes.data(), bytes.size());
      throw Error(ErrorKind::kIo, std::string("getrandom: no random bytes from the system: ") + ::strerror(errno));
    }
  }
  return bytes;
}

void wipe(void* data, std::size_t bytes) noexcept {
  if (bytes != 0) ::explicit_bzero(data, bytes);
}

void* allocate_secret_pages(std::size_t bytes) {
  const std::size_t mapped = page_bytes(bytes);
  void* data =
      mapped == 0 ? MAP_FAILED : ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    throw Error(ErrorKind::kOutOfMemory, "secret memory: " + std::to_string(bytes) + " bytes are not to be had");
  }
  // Both are protections in depth: where the process may not lock or advise, the secret is still wiped.
  (void)::mlock(data, mapped);
  (void)::madvise(data, mapped, MADV_DONTDUMP);
  return data;
}

void free_secret_pages(void* data, std::size_t bytes) noexcept {
  const std::size_t mapped = page_bytes(bytes);
  wipe(data, mapped);
  (void)::munmap(data, mapped);
}

}  // namespace lw
