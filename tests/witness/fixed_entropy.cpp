// getrandom(2) for the witness: preloaded, so that the same programs make the same keys and ciphertexts.
// Until fixed_entropy_start is called the system's own is used; then every byte follows from a number.
// INSECURE, for tests: it exists only in a process that asks for it with LD_PRELOAD.

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace {

bool is_fixed = false;
std::uint64_t state = 0;

/// The next word of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
std::uint64_t next_word() {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

extern "C" {

void fixed_entropy_start(std::uint64_t seed) {
  is_fixed = true;
  state = seed;
}

ssize_t getrandom(void* out, std::size_t size, unsigned flags) {
  if (!is_fixed) return ::syscall(SYS_getrandom, out, size, flags);
  for (std::size_t i = 0; i < size;) {
    for (std::uint64_t word = next_word(), k = 0; k < 8 && i < size; ++k, ++i, word >>= 8) {
      static_cast<unsigned char*>(out)[i] = static_cast<unsigned char>(word);
    }
  }
  return static_cast<ssize_t>(size);
}
}
