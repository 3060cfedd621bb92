// Messages put together from their parts.
#pragma once

#include <sstream>
#include <string>

namespace lw::sim {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

/// A block by its three coordinates.
struct BlockText {
  std::uint32_t x, y, z;
};

inline std::ostream& operator<<(std::ostream& out, const BlockText& block) {
  return out << "block (" << block.x << ", " << block.y << ", " << block.z << ")";
}

}  // namespace lw::sim
