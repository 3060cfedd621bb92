// The kernels of `ref`; contracts in backend/kernels.def.
#pragma once

#include "backend/kernels.hpp"

namespace lw::ref {

#define LW_KERNEL(result, name, parameters) result name parameters noexcept;
#include "backend/kernels.def"

}  // namespace lw::ref
