// The sources that kernels are compiled from at run time, which lie beside the library.
#pragma once

#include <string>

namespace lw::gpu {

/// The folder that has kernels.hpp and all that it includes.
std::string sources_folder();

/// All files of the folder in one text, with their names. Throws std::filesystem::filesystem_error, or
/// std::runtime_error if there are none.
std::string sources_text();

}  // namespace lw::gpu
