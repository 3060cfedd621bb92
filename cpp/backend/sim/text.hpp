// Messages put together from their parts.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// A word of shared memory, of the first block of a cluster unless it says so.
struct SharedText {
  std::uint32_t rank;
  std::size_t word;
};

inline std::ostream& operator<<(std::ostream& out, const SharedText& at) {
  out << "word " << at.word << " of shared memory";
  if (at.rank != 0) out << " of block " << at.rank << " of a cluster";
  return out;
}

}  // namespace lw::sim
