// A client's work on many messages as launches of kernels; contracts in backend/client_kernels.hpp.
#pragma once

#include "backend/client_kernels.hpp"
#include "backend/gpu/arithmetic.hpp"

namespace lw::gpu {

const ClientKernels& client_of(Arithmetic arithmetic) noexcept;

}  // namespace lw::gpu
