#include <algorithm>
#include <cstdlib>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"
#include "backend/matmul_way.hpp"

namespace lw::cpu {

/// By tiles of the columns, so that those of one limb are shared out among threads, and each is read once.
void integer_matmul(Queue& q, std::span<const LimbView> out, std::span<const ConstLimbView> a,
                    std::span<const std::int32_t> weights) noexcept {
  if (out.empty()) return;
  CpuQueue& queue = cpu_queue(q);
  std::int32_t largest = 0;
  for (const std::int32_t weight : weights) largest = std::max(largest, std::abs(weight));
  const std::size_t size = std::min<std::size_t>(kMatmulColumns, queue.degree), tiles = queue.degree / size;
  const std::size_t polys = out[0].polys, cycles = size * out.size() * (1 + a.size()) / 8;
  queue.pool.parallel_for(polys * out[0].limbs.size() * tiles, cycles, [&](std::size_t i) {
    const std::size_t poly = i / tiles % polys, j = i / tiles / polys;
    const std::uint16_t limb = out[0].limbs[j];
    const MatmulWay way = matmul_way(queue.moduli[limb].value(), largest);
    queue.limb.matmul_tile({out, a, weights.data(), poly, j, i % tiles * size}, size, way, queue.ntt[limb].prime);
  });
}

}  // namespace lw::cpu
