// The vector instructions that the code of math/ and of the backend `cpu` uses, chosen at run time.
#pragma once

#include <cstdint>

namespace lw {

/// kAvx2 includes FMA, kAvx512 stands for F, DQ, BW and VL; each includes the ones before it.
enum class VectorSet : std::uint8_t { kGeneric, kAvx2, kAvx512 };

/// The widest that this machine has. The processor is asked, and whether the operating system keeps the registers.
VectorSet widest_vectors() noexcept;

}  // namespace lw
