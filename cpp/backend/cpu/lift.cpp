#include <algorithm>

#include "backend/cpu/base_conversion.hpp"
#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"

namespace lw::cpu {
namespace {

constexpr std::size_t kTileWords = 8192;  // of all parts of a tile together: they stay in the nearest caches
constexpr std::size_t kMinTile = 32;

std::size_t tile_size(std::size_t rows, std::size_t degree) noexcept {
  std::size_t size = std::min<std::size_t>(2048, degree);
  while (size > kMinTile && size * rows > kTileWords) size /= 2;
  return size;
}

}  // namespace

void lift(Queue& q, Rows out, ConstRows in, const LiftTable& table) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const std::size_t targets = table.to.size(), rows = num_part_rows(table);
  const std::size_t size = tile_size(rows, queue.degree), tiles = queue.degree / size;
  const std::size_t cycles = size * rows * (3 + targets / 2);
  queue.pool.parallel_for(out.polys * tiles, cycles, [&](std::size_t task) {
    alignas(64) Word buffer[(kMaxFrom + 1) * kMinTile > kTileWords ? (kMaxFrom + 1) * kMinTile : kTileWords];
    const std::size_t poly = task / tiles, start = task % tiles * size;
    const Parts parts = {buffer, size};
    split_rows(queue, parts, in, poly, start, size, table);
    for (std::size_t t = 0; t < targets; ++t)
      Joiner(queue, table, t).join(queue, out.row(poly, t) + start, parts, 0, size);
  });
}

}  // namespace lw::cpu
