// The kernels of `cpu`; contracts in backend/kernels.def. They batch and share out the limbs of limb_kernels.hpp.
#pragma once

#include "backend/kernels.hpp"

namespace lw::cpu {

#define LW_KERNEL(result, name, parameters) result name parameters noexcept;
#include "backend/kernels.def"

}  // namespace lw::cpu
