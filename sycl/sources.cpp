#include "sources.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace lw::gpu {
namespace {

const int here = 0;  // an address in this library

}  // namespace

std::string sources_folder() {
  Dl_info found{};
  if (dladdr(&here, &found) == 0) throw std::runtime_error("the library does not know where it is");
  return (std::filesystem::canonical(found.dli_fname).parent_path() / "sources").string();
}

std::string sources_text() {
  const std::filesystem::path folder = sources_folder();
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  if (files.empty()) throw std::runtime_error("no sources of kernels in " + folder.string());
  std::ranges::sort(files);
  std::ostringstream text;
  for (const std::filesystem::path& file : files) {
    text << "// " << file.lexically_relative(folder).string() << ", " << std::filesystem::file_size(file) << " bytes\n"
         << std::ifstream(file, std::ios::binary).rdbuf();
  }
  return text.str();
}

}  // namespace lw::gpu
