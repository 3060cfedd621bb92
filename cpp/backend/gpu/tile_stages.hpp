// The stages of an NTT that each kernel does, and their tiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/gpu/kernels/ntt_sub_scale.hpp"
#include "backend/gpu/launch.hpp"

namespace lw::gpu {

/// Stages of one kernel, on tiles of 2^log_tile words of which 2^log_run lie together.
struct Stages {
  std::uint32_t first, count, log_tile, log_run;
};

/// The first stages of limbs that are longer than a full tile, on columns; none for shorter ones.
template <class Radix>
Stages columns_of(std::uint32_t log_degree) noexcept {
  const std::uint32_t count = log_degree - std::min(log_degree, Radix::kLogTile);
  return {0, count, Radix::kLogTile, Radix::kLogTile - count};
}
/// The stages after the columns: those within one tile.
template <class Radix>
Stages rest_of(std::uint32_t log_degree) noexcept {
  const std::uint32_t log_tile = std::min(log_degree, Radix::kLogTile);
  return {log_degree - log_tile, log_tile, log_tile, log_tile};
}

/// Whether they are few enough that a thread has the words of a column.
inline bool fit_a_thread(const Stages& columns) noexcept {
  return columns.count > 0 && columns.count <= kLogColumnWords;
}

/// Whether the end of a forward transform is on full tiles of radix 8, where other kernels go on with it.
inline bool ends_in_full_tiles(const GpuQueue& queue) noexcept {
  return queue.transform() == NttForm::kRadix8 && queue.tables().log_degree >= Radix8::kLogTile;
}

inline Grid tile_grid(const GpuQueue& queue, std::size_t limbs, std::uint32_t polys, std::uint32_t log_tile,
                      std::uint32_t threads) noexcept {
  return {{std::uint32_t{1} << (queue.tables().log_degree - log_tile), static_cast<std::uint32_t>(limbs), polys},
          std::max<std::uint32_t>(1, threads)};
}

/// Columns in registers.
inline Grid column_grid(const GpuQueue& queue, std::size_t limbs, std::size_t polys) noexcept {
  return limb_grid(degree_of(queue) / kColumnWords, limbs, polys, kColumnThreads);
}

inline TileShape tile_shape(const GpuQueue& queue, const Stages& stages) noexcept {
  return {queue.tables(), stages.first, stages.count, stages.log_tile, stages.log_run};
}
inline NttArgs ntt_args(const GpuQueue& queue, const LimbView& out, const ConstLimbView& x,
                        const Stages& stages) noexcept {
  return {tile_shape(queue, stages), result(out), operand(x), numbers_of(out.limbs)};
}

/// The arguments of the subtraction and scaling that follow the transforms of `ntt`.
template <class A>
SubScaleArgs sub_scale_args(const GpuQueue& queue, const LimbView& out, const ConstLimbView& a, const NttArgs& ntt,
                            std::span<const Word> scalars) noexcept {
  SubScaleArgs args = {ntt, operand(a), {}};
  for (std::size_t j = 0; j < scalars.size(); ++j) {
    args.scalars.word[j] = scalar_of<A>(queue, out.limbs[j], scalars[j]);
  }
  return args;
}

}  // namespace lw::gpu
