#include <algorithm>
#include <bit>

#include "backend/gpu/entries.hpp"
#include "backend/gpu/launch.hpp"

namespace lw::gpu {
namespace {

/// The columns' stages, which span more than a tile, and the others.
struct NttParts {
  std::uint32_t columns, tiles;
};

NttParts ntt_parts(std::uint32_t log_degree) noexcept {
  const std::uint32_t tiles = std::min(log_degree, kLogNttTile);
  return {log_degree - tiles, tiles};
}

/// The kernel on `stages` stages from `first` on.
template <class K>
void run_stages(GpuQueue& queue, const Rows& out, const ConstRows& x, std::uint32_t first,
                std::uint32_t stages) noexcept {
  const std::uint32_t log_degree = queue.tables().log_degree;
  const std::uint32_t log_tile = std::min(log_degree, kLogNttTile);
  const bool is_columns = first + stages < log_degree;
  const NttArgs args = {
      queue.tables(),       result(out), operand(x), first, stages, log_tile, is_columns ? log_tile - stages : log_tile,
      numbers_of(out.limbs)};
  const std::uint32_t threads = std::max<std::uint32_t>(1, (std::uint32_t{1} << log_tile) >> kPassStages);
  const Grid grid = {
      {std::uint32_t{1} << (log_degree - log_tile), static_cast<std::uint32_t>(out.limbs.size()), out.polys}, threads};
  queue.launch<K>(args, grid, ntt_shared_words(log_tile));
}

}  // namespace

template <class A>
void TransformEntries<A>::ntt(Queue& q, Rows out, ConstRows x) noexcept {
  GpuQueue& queue = gpu_queue(q);
  const NttParts parts = ntt_parts(queue.tables().log_degree);
  if (parts.columns > 0) run_stages<ForwardNtt<A>>(queue, out, x, 0, parts.columns);
  run_stages<ForwardNtt<A>>(queue, out, parts.columns > 0 ? out : x, parts.columns, parts.tiles);
}

template <class A>
void TransformEntries<A>::intt(Queue& q, Rows out, ConstRows x) noexcept {
  GpuQueue& queue = gpu_queue(q);
  const NttParts parts = ntt_parts(queue.tables().log_degree);
  run_stages<InverseNtt<A>>(queue, out, x, parts.columns, parts.tiles);
  if (parts.columns > 0) run_stages<InverseNtt<A>>(queue, out, out, 0, parts.columns);
}

template <class A>
void TransformEntries<A>::lift(Queue& q, Rows out, ConstRows in, const LiftTable& table) noexcept {
  GpuQueue& queue = gpu_queue(q);
  Staging staging(queue);
  LimbNumbers rows = {};
  for (std::size_t j = 0; j < table.from.size(); ++j) {
    const auto place = std::find(in.limbs.begin(), in.limbs.end(), table.from[j]) - in.limbs.begin();
    rows.number[j] = static_cast<std::uint16_t>(place);
  }
  const std::size_t terms = table.from.size();
  const std::size_t fitting = std::bit_floor(kLiftSharedWords / std::max<std::size_t>(terms, 1));
  const std::size_t groups = (table.to.size() + kLiftTargets - 1) / kLiftTargets;
  const Grid grid = row_grid(degree_of(queue), groups, out.polys, std::min<std::size_t>(fitting, Lift<A>::kThreads));
  queue.launch<Lift<A>>({queue.tables(), queue.lift(table, staging), result(out), operand(in), rows}, grid,
                        static_cast<std::uint32_t>(terms * grid.threads));
}

template struct TransformEntries<Fp64>;
template struct TransformEntries<U64>;

}  // namespace lw::gpu
