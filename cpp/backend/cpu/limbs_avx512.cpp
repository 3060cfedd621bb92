#include "backend/cpu/vectors_avx512.hpp"
// before the templates that call them
#include "backend/cpu/ntt_tail_avx512.hpp"
#include "backend/cpu/simd_limbs.hpp"

namespace lw::cpu {

// A constant, because code of this file that ran while the library is loaded would need the instructions.
constinit const LimbKernels kAvx512Limbs = limb_kernels_of<Avx512, Avx512Tail, kNttRanges8>();

}  // namespace lw::cpu
