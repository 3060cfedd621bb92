#include "backend/cpu/vectors_avx2.hpp"
// before the templates that call them
#include "backend/cpu/ntt_tail_four.hpp"
#include "backend/cpu/simd_limbs.hpp"

namespace lw::cpu {
namespace {

template <NttRanges kRanges>
using Avx2Tail = FourTail<Avx2, kRanges>;

}  // namespace

constinit const LimbKernels kAvx2Limbs = limb_kernels_of<Avx2, Avx2Tail, kNttRanges4>();

}  // namespace lw::cpu
