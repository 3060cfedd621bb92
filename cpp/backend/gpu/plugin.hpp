// Drivers that come in libraries of their own.
#pragma once

#include <string>

#include "backend/gpu/driver.h"

namespace lw::gpu {

/// The driver in a library that has `latticework_driver`; the library stays loaded. Throws lw::Error(kDevice) if it
/// cannot be loaded, or was made for another version of the table or other kernels than this library.
const LwDriver& load_driver(const std::string& path);

/// The driver that was loaded last, or nullptr.
const LwDriver* current_driver() noexcept;

}  // namespace lw::gpu
