#include "backend/cpu/vectors_neon.hpp"
// before the templates that call them
#include "backend/cpu/ntt_tail_four.hpp"
#include "backend/cpu/simd_limbs.hpp"

namespace lw::cpu {
namespace {

template <NttRanges kRanges>
using NeonTail = FourTail<Neon, kRanges>;

}  // namespace

constinit const LimbKernels kNeonLimbs = limb_kernels_of<Neon, NeonTail, kNttRanges4>();

}  // namespace lw::cpu
