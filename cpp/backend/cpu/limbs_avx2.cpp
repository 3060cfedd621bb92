#include "backend/cpu/ntt_tail_avx2.hpp"
#include "backend/cpu/simd_limbs.hpp"
#include "backend/cpu/vectors_avx2.hpp"

namespace lw::cpu {

constinit const LimbKernels kAvx2Limbs = limb_kernels_of<Avx2, Avx2Tail, kNttRanges4>();

}  // namespace lw::cpu
