#include <algorithm>

#include "backend/cpu/base_convert_parts.hpp"
#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"

namespace lw::cpu {
void base_convert(Queue& q, LimbView out, ConstLimbView in, const BaseConversionTable& table) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const std::size_t targets = table.to.size(), limbs = num_part_limbs(table);
  const std::size_t size = join_tile(limbs, queue.degree), tiles = queue.degree / size;
  const std::size_t cycles = size * limbs * (3 + targets / 2);
  queue.pool.parallel_for(out.polys * tiles, cycles, [&](std::size_t task) {
    alignas(64) Word buffer[std::max((kMaxFrom + 1) * kLeastTile, kJoinWords)];
    const std::size_t poly = task / tiles, start = task % tiles * size;
    const Parts parts = {buffer, size};
    split_limbs(queue, parts, in, poly, start, size, table);
    for (std::size_t t = 0; t < targets; ++t)
      Joiner(queue, table, t).join(queue, out.limb(poly, t) + start, parts, 0, size);
  });
}

}  // namespace lw::cpu
