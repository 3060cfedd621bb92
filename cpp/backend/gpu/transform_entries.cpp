#include <algorithm>

#include "backend/gpu/entries.hpp"
#include "backend/gpu/launch.hpp"
#include "backend/gpu/tile_stages.hpp"

namespace lw::gpu {
namespace {

template <class K, class Radix>
void run_tiles(GpuQueue& queue, const LimbView& out, const ConstLimbView& x, const Stages& stages) noexcept {
  const Grid grid =
      tile_grid(queue, out.limbs.size(), out.polys, stages.log_tile, (1u << stages.log_tile) >> Radix::kStages);
  queue.launch<K>(ntt_args(queue, out, x, stages), grid, ntt_shared_words(stages.log_tile));
}

template <class K>
void run_columns(GpuQueue& queue, const LimbView& out, const ConstLimbView& x, const Stages& stages) noexcept {
  queue.launch<K>(ntt_args(queue, out, x, stages), column_grid(queue, out.limbs.size(), out.polys));
}

template <class A, class Radix>
struct Staged {
  using Any = AnyTile<Radix>;
  using Full = FullTile<Radix>;
  static constexpr bool kTakesColumns = Radix::kStages == Radix8::kStages;

  /// Whether there are columns, which now are done.
  static bool columns(GpuQueue& queue, const LimbView& out, const ConstLimbView& x) noexcept {
    const Stages stages = columns_of<Radix>(queue.tables().log_degree);
    if (stages.count == 0) return false;
    if (kTakesColumns && fit_a_thread(stages)) {
      run_columns<ForwardColumns<A>>(queue, out, x, stages);
    } else {
      run_tiles<ForwardNtt<A, Radix, Any>, Radix>(queue, out, x, stages);
    }
    return true;
  }
  static void inverse_columns(GpuQueue& queue, const LimbView& out) noexcept {
    const Stages stages = columns_of<Radix>(queue.tables().log_degree);
    if (kTakesColumns && fit_a_thread(stages)) {
      run_columns<InverseColumns<A>>(queue, out, out, stages);
    } else if (stages.count > 0) {
      run_tiles<InverseNtt<A, Radix, Any>, Radix>(queue, out, out, stages);
    }
  }

  static void forward(GpuQueue& queue, const LimbView& out, const ConstLimbView& x) noexcept {
    tiles(queue, out, columns(queue, out, x) ? ConstLimbView(out) : x);
  }
  /// Runs the stages of a forward transform within tiles, after the columns, if there are any.
  static void tiles(GpuQueue& queue, const LimbView& out, const ConstLimbView& begun) noexcept {
    const Stages rest = rest_of<Radix>(queue.tables().log_degree);
    if (rest.log_tile == Radix::kLogTile) {
      run_tiles<ForwardNtt<A, Radix, Full>, Radix>(queue, out, begun, rest);
    } else {
      run_tiles<ForwardNtt<A, Radix, Any>, Radix>(queue, out, begun, rest);
    }
  }
  static void inverse(GpuQueue& queue, const LimbView& out, const ConstLimbView& x) noexcept {
    const Stages rest = rest_of<Radix>(queue.tables().log_degree);
    if (rest.log_tile == Radix::kLogTile) {
      run_tiles<InverseNtt<A, Radix, Full>, Radix>(queue, out, x, rest);
    } else {
      run_tiles<InverseNtt<A, Radix, Any>, Radix>(queue, out, x, rest);
    }
    inverse_columns(queue, out);
  }
};

/// The entries of the transforms whose last stages are by lanes; columns as of radix 2.
template <class A>
struct ByLanes {
  template <class K>
  static void rest(GpuQueue& queue, const LimbView& out, const ConstLimbView& x, std::uint32_t log_lanes) noexcept {
    const Stages stages = rest_of<Radix2>(queue.tables().log_degree);
    queue.launch<K>({ntt_args(queue, out, x, stages), log_lanes},
                    tile_grid(queue, out.limbs.size(), out.polys, stages.log_tile, (1u << stages.log_tile) / 2),
                    ntt_shared_words(stages.log_tile));
  }
  static void forward(GpuQueue& queue, const LimbView& out, const ConstLimbView& x, std::uint32_t log_lanes) noexcept {
    rest<ForwardLanes<A>>(queue, out, Staged<A, Radix2>::columns(queue, out, x) ? ConstLimbView(out) : x, log_lanes);
  }
  static void inverse(GpuQueue& queue, const LimbView& out, const ConstLimbView& x, std::uint32_t log_lanes) noexcept {
    rest<InverseLanes<A>>(queue, out, x, log_lanes);
    Staged<A, Radix2>::inverse_columns(queue, out);
  }
};

/// Limbs of up to a full tile as of radix 8, by one block.
template <class A>
struct ByCluster {
  template <class K>
  static void run(GpuQueue& queue, const LimbView& out, const ConstLimbView& x) noexcept {
    const std::uint32_t log_part = queue.tables().log_degree - kClusterStages;
    const std::uint32_t threads = std::min(K::kThreads, (1u << log_part) >> RadixOfCluster::kStages);
    queue.launch<K>(ntt_args(queue, out, x, {0, queue.tables().log_degree, log_part, log_part}),
                    tile_grid(queue, out.limbs.size(), out.polys, log_part, threads), ntt_shared_words(log_part));
  }
  static bool takes(const GpuQueue& queue) noexcept { return queue.tables().log_degree > Radix8::kLogTile; }
  static void forward(GpuQueue& queue, const LimbView& out, const ConstLimbView& x) noexcept {
    takes(queue) ? run<ForwardCluster<A>>(queue, out, x) : Staged<A, Radix8>::forward(queue, out, x);
  }
  static void inverse(GpuQueue& queue, const LimbView& out, const ConstLimbView& x) noexcept {
    takes(queue) ? run<InverseCluster<A>>(queue, out, x) : Staged<A, Radix8>::inverse(queue, out, x);
  }
};

template <class A>
struct ByStage {
  template <class K>
  static void stage(GpuQueue& queue, const LimbView& out, const ConstLimbView& x, std::uint32_t number) noexcept {
    const Grid grid = limb_grid(degree_of(queue) / 2, out.limbs.size(), out.polys);
    queue.launch<K>({queue.tables(), result(out), operand(x), number, numbers_of(out.limbs)}, grid);
  }
  static void forward(GpuQueue& queue, const LimbView& out, const ConstLimbView& x) noexcept {
    stage<ForwardStage<A>>(queue, out, x, 0);
    for (std::uint32_t s = 1; s < queue.tables().log_degree; ++s) stage<ForwardStage<A>>(queue, out, out, s);
  }
  static void inverse(GpuQueue& queue, const LimbView& out, const ConstLimbView& x) noexcept {
    const std::uint32_t last = queue.tables().log_degree - 1;
    stage<InverseStage<A>>(queue, out, x, last);
    for (std::uint32_t s = last; s-- > 0;) stage<InverseStage<A>>(queue, out, out, s);
  }
};

}  // namespace

template <class A>
void TransformEntries<A>::ntt(Queue& q, LimbView out, ConstLimbView x) noexcept {
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
void TransformEntries<A>::ntt_begin(Queue& q, LimbView x) noexcept {
  if (gpu_queue(q).transform() == NttForm::kRadix8) Staged<A, Radix8>::columns(gpu_queue(q), x, x);
}

template <class A>
void TransformEntries<A>::ntt_end(Queue& q, LimbView x) noexcept {
  if (gpu_queue(q).transform() != NttForm::kRadix8) return ntt(q, x, x);
  Staged<A, Radix8>::tiles(gpu_queue(q), x, x);
}

template <class A>
void TransformEntries<A>::ntt_end_sub_scale(Queue& q, LimbView out, ConstLimbView a, LimbView x,
                                            std::span<const Word> scalars) noexcept {
  GpuQueue& queue = gpu_queue(q);
  if (!ends_in_full_tiles(queue)) {
    ntt_end(q, x);
    return LimbEntries<A>::sub_scale(q, out, a, x, scalars);
  }
  const Stages rest = rest_of<Radix8>(queue.tables().log_degree);
  queue.launch<NttSubScale<A>>(sub_scale_args<A>(queue, out, a, ntt_args(queue, out, x, rest), scalars),
                               tile_grid(queue, out.limbs.size(), out.polys, rest.log_tile, Radix8::kThreads),
                               ntt_shared_words(rest.log_tile));
}

template <class A>
void TransformEntries<A>::intt(Queue& q, LimbView out, ConstLimbView x) noexcept {
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
void TransformEntries<A>::ntt_integers(Queue& q, LimbView out, const IntegerView& in) noexcept {
  ResidueEntries<A>::import_integers(q, out, in);
  ntt(q, out, out);
}

template struct TransformEntries<Fp64>;
template struct TransformEntries<U64>;

}  // namespace lw::gpu
