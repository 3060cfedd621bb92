#include <algorithm>
#include <bit>

#include "backend/gpu/entries.hpp"
#include "backend/gpu/launch.hpp"

namespace lw::gpu {
namespace {

/// Stages of one kernel, on tiles of 2^log_tile words of which 2^log_run lie together.
struct Stages {
  std::uint32_t first, count, log_tile, log_run;
};

Grid tile_grid(const GpuQueue& queue, const Rows& out, std::uint32_t log_tile, std::uint32_t threads) noexcept {
  return {{std::uint32_t{1} << (queue.tables().log_degree - log_tile), static_cast<std::uint32_t>(out.limbs.size()),
           out.polys},
          std::max<std::uint32_t>(1, threads)};
}

NttArgs ntt_args(const GpuQueue& queue, const Rows& out, const ConstRows& x, const Stages& stages) noexcept {
  return {queue.tables(), result(out),     operand(x),     stages.first,
          stages.count,   stages.log_tile, stages.log_run, numbers_of(out.limbs)};
}

template <class K, class Radix>
void run_tiles(GpuQueue& queue, const Rows& out, const ConstRows& x, const Stages& stages) noexcept {
  const Grid grid = tile_grid(queue, out, stages.log_tile, (1u << stages.log_tile) >> Radix::kStages);
  queue.launch<K>(ntt_args(queue, out, x, stages), grid, ntt_shared_words(stages.log_tile));
}

/// The first stages of rows that are longer than a full tile, on columns; none for shorter ones.
template <class Radix>
Stages columns_of(std::uint32_t log_degree) noexcept {
  const std::uint32_t count = log_degree - std::min(log_degree, Radix::kLogTile);
  return {0, count, Radix::kLogTile, Radix::kLogTile - count};
}
/// The others.
template <class Radix>
Stages rest_of(std::uint32_t log_degree) noexcept {
  const std::uint32_t log_tile = std::min(log_degree, Radix::kLogTile);
  return {log_degree - log_tile, log_tile, log_tile, log_tile};
}

template <class A, class Radix>
struct Staged {
  using Any = AnyTile<Radix>;
  using Full = FullTile<Radix>;

  /// Whether there are columns, which now are done.
  static bool columns(GpuQueue& queue, const Rows& out, const ConstRows& x) noexcept {
    const Stages stages = columns_of<Radix>(queue.tables().log_degree);
    if (stages.count > 0) run_tiles<ForwardNtt<A, Radix, Any>, Radix>(queue, out, x, stages);
    return stages.count > 0;
  }
  static void inverse_columns(GpuQueue& queue, const Rows& out) noexcept {
    const Stages stages = columns_of<Radix>(queue.tables().log_degree);
    if (stages.count > 0) run_tiles<InverseNtt<A, Radix, Any>, Radix>(queue, out, out, stages);
  }

  static void forward(GpuQueue& queue, const Rows& out, const ConstRows& x) noexcept {
    const Stages rest = rest_of<Radix>(queue.tables().log_degree);
    const ConstRows& begun = columns(queue, out, x) ? ConstRows(out) : x;
    if (rest.log_tile == Radix::kLogTile) {
      run_tiles<ForwardNtt<A, Radix, Full>, Radix>(queue, out, begun, rest);
    } else {
      run_tiles<ForwardNtt<A, Radix, Any>, Radix>(queue, out, begun, rest);
    }
  }
  static void inverse(GpuQueue& queue, const Rows& out, const ConstRows& x) noexcept {
    const Stages rest = rest_of<Radix>(queue.tables().log_degree);
    if (rest.log_tile == Radix::kLogTile) {
      run_tiles<InverseNtt<A, Radix, Full>, Radix>(queue, out, x, rest);
    } else {
      run_tiles<InverseNtt<A, Radix, Any>, Radix>(queue, out, x, rest);
    }
    inverse_columns(queue, out);
  }
};

/// Columns as of radix 2.
template <class A>
struct ByLanes {
  template <class K>
  static void rest(GpuQueue& queue, const Rows& out, const ConstRows& x, std::uint32_t log_lanes) noexcept {
    const Stages stages = rest_of<Radix2>(queue.tables().log_degree);
    queue.launch<K>({ntt_args(queue, out, x, stages), log_lanes},
                    tile_grid(queue, out, stages.log_tile, (1u << stages.log_tile) / 2),
                    ntt_shared_words(stages.log_tile));
  }
  static void forward(GpuQueue& queue, const Rows& out, const ConstRows& x, std::uint32_t log_lanes) noexcept {
    rest<ForwardLanes<A>>(queue, out, Staged<A, Radix2>::columns(queue, out, x) ? ConstRows(out) : x, log_lanes);
  }
  static void inverse(GpuQueue& queue, const Rows& out, const ConstRows& x, std::uint32_t log_lanes) noexcept {
    rest<InverseLanes<A>>(queue, out, x, log_lanes);
    Staged<A, Radix2>::inverse_columns(queue, out);
  }
};

/// Rows of up to a full tile as of radix 8, by one block.
template <class A>
struct ByCluster {
  template <class K>
  static void run(GpuQueue& queue, const Rows& out, const ConstRows& x) noexcept {
    const std::uint32_t log_part = queue.tables().log_degree - kClusterStages;
    const std::uint32_t threads = std::min(K::kThreads, (1u << log_part) >> RadixOfCluster::kStages);
    queue.launch<K>(ntt_args(queue, out, x, {0, queue.tables().log_degree, log_part, log_part}),
                    tile_grid(queue, out, log_part, threads), ntt_shared_words(log_part));
  }
  static bool takes(const GpuQueue& queue) noexcept { return queue.tables().log_degree > Radix8::kLogTile; }
  static void forward(GpuQueue& queue, const Rows& out, const ConstRows& x) noexcept {
    takes(queue) ? run<ForwardCluster<A>>(queue, out, x) : Staged<A, Radix8>::forward(queue, out, x);
  }
  static void inverse(GpuQueue& queue, const Rows& out, const ConstRows& x) noexcept {
    takes(queue) ? run<InverseCluster<A>>(queue, out, x) : Staged<A, Radix8>::inverse(queue, out, x);
  }
};

template <class A>
struct ByStage {
  template <class K>
  static void stage(GpuQueue& queue, const Rows& out, const ConstRows& x, std::uint32_t number) noexcept {
    const Grid grid = row_grid(degree_of(queue) / 2, out.limbs.size(), out.polys);
    queue.launch<K>({queue.tables(), result(out), operand(x), number, numbers_of(out.limbs)}, grid);
  }
  static void forward(GpuQueue& queue, const Rows& out, const ConstRows& x) noexcept {
    stage<ForwardStage<A>>(queue, out, x, 0);
    for (std::uint32_t s = 1; s < queue.tables().log_degree; ++s) stage<ForwardStage<A>>(queue, out, out, s);
  }
  static void inverse(GpuQueue& queue, const Rows& out, const ConstRows& x) noexcept {
    const std::uint32_t last = queue.tables().log_degree - 1;
    stage<InverseStage<A>>(queue, out, x, last);
    for (std::uint32_t s = last; s-- > 0;) stage<InverseStage<A>>(queue, out, out, s);
  }
};

}  // namespace

template <class A>
void TransformEntries<A>::ntt(Queue& q, Rows out, ConstRows x) noexcept {
  GpuQueue& queue = gpu_queue(q);
  switch (queue.transform()) {
    case NttForm::kNaive:
      return ByStage<A>::forward(queue, out, x);
    case NttForm::kRadix2:
      return Staged<A, Radix2>::forward(queue, out, x);
    case NttForm::kShuffle8:
      return ByLanes<A>::forward(queue, out, x, 3);
    case NttForm::kShuffle16:
      return ByLanes<A>::forward(queue, out, x, 4);
    case NttForm::kShuffle32:
      return ByLanes<A>::forward(queue, out, x, 5);
    case NttForm::kRadix4:
      return Staged<A, Radix4>::forward(queue, out, x);
    case NttForm::kRadix8:
      return Staged<A, Radix8>::forward(queue, out, x);
    case NttForm::kRadix16:
      return Staged<A, Radix16>::forward(queue, out, x);
    case NttForm::kCluster:
      return ByCluster<A>::forward(queue, out, x);
  }
}

template <class A>
void TransformEntries<A>::ntt_sub_scale(Queue& q, Rows out, ConstRows a, Rows x,
                                        std::span<const Word> scalars) noexcept {
  using Kernel = NttSubScale<A, Radix8>;
  GpuQueue& queue = gpu_queue(q);
  const Stages rest = rest_of<Radix8>(queue.tables().log_degree);
  if (queue.transform() != NttForm::kRadix8 || rest.log_tile < Radix8::kLogTile) {
    ntt(q, x, x);
    RowEntries<A>::sub_scale(q, out, a, x, scalars);
    return;
  }
  Staged<A, Radix8>::columns(queue, x, x);
  typename Kernel::Args args = {ntt_args(queue, out, x, rest), operand(a), {}};
  for (std::size_t j = 0; j < scalars.size(); ++j) {
    args.scalars.word[j] = scalar_of<A>(queue, out.limbs[j], scalars[j]);
  }
  queue.launch<Kernel>(args, tile_grid(queue, out, rest.log_tile, Kernel::kThreads), ntt_shared_words(rest.log_tile));
}

template <class A>
void TransformEntries<A>::intt(Queue& q, Rows out, ConstRows x) noexcept {
  GpuQueue& queue = gpu_queue(q);
  switch (queue.transform()) {
    case NttForm::kNaive:
      return ByStage<A>::inverse(queue, out, x);
    case NttForm::kRadix2:
      return Staged<A, Radix2>::inverse(queue, out, x);
    case NttForm::kShuffle8:
      return ByLanes<A>::inverse(queue, out, x, 3);
    case NttForm::kShuffle16:
      return ByLanes<A>::inverse(queue, out, x, 4);
    case NttForm::kShuffle32:
      return ByLanes<A>::inverse(queue, out, x, 5);
    case NttForm::kRadix4:
      return Staged<A, Radix4>::inverse(queue, out, x);
    case NttForm::kRadix8:
      return Staged<A, Radix8>::inverse(queue, out, x);
    case NttForm::kRadix16:
      return Staged<A, Radix16>::inverse(queue, out, x);
    case NttForm::kCluster:
      return ByCluster<A>::inverse(queue, out, x);
  }
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
