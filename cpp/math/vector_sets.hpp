// The vector instructions that the code of math/ uses, chosen at run time.
#pragma once

#include <cstdint>

namespace lw {

/// kAvx512 stands for F, DQ, BW and VL; each includes the ones before it.
enum class VectorSet : std::uint8_t { kGeneric, kAvx2, kAvx512 };

/// The widest that this machine has. The processor is asked, and whether the operating system keeps the registers.
inline VectorSet widest_vectors() noexcept {
#if defined(__x86_64__)
  static const VectorSet widest = [] {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) return VectorSet::kGeneric;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return avx512 ? VectorSet::kAvx512 : VectorSet::kAvx2;
  }();
  return widest;
#else
  return VectorSet::kGeneric;
#endif
}

}  // namespace lw
