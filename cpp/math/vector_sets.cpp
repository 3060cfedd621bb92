#include "math/vector_sets.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lw {
namespace {

#if defined(__x86_64__)
constexpr bool has_all(std::uint64_t bits, std::uint64_t wanted) noexcept { return (bits & wanted) == wanted; }

// The instruction itself, as __builtin_cpu_supports finds nothing, and says so of no machine, where the compiler's
// run-time library has an empty __cpu_indicator_init (zig 0.17).
VectorSet ask_processor() noexcept {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !has_all(c, bit_OSXSAVE | bit_AVX | bit_FMA)) return VectorSet::kGeneric;
  std::uint32_t kept = 0, upper = 0;  // registers that the operating system keeps
  asm volatile("xgetbv" : "=a"(kept), "=d"(upper) : "c"(0));
  if (!has_all(kept, 0x06)) return VectorSet::kGeneric;  // xmm and ymm
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || !has_all(b, bit_AVX2)) return VectorSet::kGeneric;
  const bool avx512 = has_all(b, bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL) &&
                      has_all(kept, 0xe6);  // masks and both parts of zmm too
  return avx512 ? VectorSet::kAvx512 : VectorSet::kAvx2;
}
#else
VectorSet ask_processor() noexcept { return VectorSet::kGeneric; }
#endif

}  // namespace

VectorSet widest_vectors() noexcept {
  static const VectorSet widest = ask_processor();
  return widest;
}

}  // namespace lw
