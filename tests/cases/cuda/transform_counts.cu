// Parts of the transforms by default as kernels of their own, so that their instructions can be counted: with the
// butterflies for one size of primes, without the choice between them, and without branches that limbs of 2^15 words do
// not take.
#include "kernels.cuh"

namespace lw::gpu {

/// Butterflies alone: kRounds times all of radix 8 on words and twiddles that stay in registers.
template <class A, class B, bool kForward, int kRounds>
LW_GPU void butterflies(const Word* words, const typename A::Twiddle* table, const typename A::Prime* primes,
                        Word* out) noexcept {
  const typename A::Prime prime = *primes;
  typename A::Value v[8];
  typename A::Twiddle w[4];
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = A::from_word(words[i]);
#pragma unroll
  for (int i = 0; i < 4; ++i) w[i] = table[i];
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (int half = 4; half > 0; half /= 2) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = i / half * 2 * half + i % half;
        if (kForward) {
          B::forward(v[at], v[at + half], w[i / half], prime);
        } else {
          B::inverse(v[at], v[at + half], w[i / half], prime);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) out[i] = A::to_word(v[i]);
}

/// The last stages of a limb that has columns before them.
struct Rest : FullTile<Radix8> {
  static LW_GPU std::uint32_t first(const TileShape& args) noexcept {
    __builtin_assume(args.first > 0);
    return args.first;
  }
};
/// A kernel of transforms for primes that B takes.
template <class A, class B, class Tile, template <class, class> class Phases>
LW_GPU void transform(const NttArgs& args, const Place& place, Shared shared) noexcept {
  LimbRegisters<A, Radix8, Tile> limb;
#pragma unroll
  for (std::uint32_t phase = 0; phase < num_passes<Radix8, Tile>(args) + Tile::kIsFull; ++phase) {
    if (phase > 0) meet<ForwardNtt<A, Radix8, Tile>>();
    limb.begin(phase, args, place);
    Phases<Radix8, Tile>::template Of<A, B>::run(limb.prime, phase, args, place, shared, limb.held);
  }
}

/// Columns of three stages before others, two for each thread.
template <class A, class B, bool kIsInverse>
LW_GPU void columns(const NttArgs& args, const Place& place) noexcept {
  using Kernel = ColumnsKernel<A, kIsInverse>;
  __builtin_assume(args.tables.log_degree == 15);
  Kernel::template run_limbs<3>(args, place, [&](const typename A::Prime& prime, std::uint32_t limb, auto& v) {
    Kernel::template Stages<3>::template Of<A, B>::run(prime, args, limb, v);
  });
}

}  // namespace lw::gpu

using namespace lw::gpu;

#define BUTTERFLIES(NAME, A, B, IS_FORWARD, ROUNDS)                                                       \
  extern "C" __global__ void NAME##_##ROUNDS(const std::uint64_t* words, const A::Twiddle* table,         \
                                             const A::Prime* primes, std::uint64_t* out) {                \
    butterflies<A, B, IS_FORWARD, ROUNDS>(words + 8 * threadIdx.x, table, primes, out + 8 * threadIdx.x); \
  }
#define PART(NAME, A, B, TILE, PHASES)                                                                        \
  extern "C" __global__ void __launch_bounds__(Radix8::kThreads) NAME(const __grid_constant__ NttArgs args) { \
    extern __shared__ std::uint64_t words[];                                                                  \
    const Place place = {{blockIdx.x, blockIdx.y, blockIdx.z}, threadIdx.x, Radix8::kThreads};                \
    transform<A, B, TILE, PHASES>(args, place, Shared(words));                                                \
  }
#define COLUMNS(NAME, A, B, IS_INVERSE)                                                                   \
  extern "C" __global__ void __launch_bounds__(kColumnThreads, ColumnsKernel<A, IS_INVERSE>::kBlocks)     \
      NAME(const __grid_constant__ NttArgs args) {                                                        \
    columns<A, B, IS_INVERSE>(args, {{blockIdx.x, blockIdx.y, blockIdx.z}, threadIdx.x, kColumnThreads}); \
  }
#define COUNTED(NAME, A, B)                               \
  BUTTERFLIES(NAME##_forward_butterflies, A, B, true, 4)  \
  BUTTERFLIES(NAME##_forward_butterflies, A, B, true, 8)  \
  BUTTERFLIES(NAME##_inverse_butterflies, A, B, false, 4) \
  BUTTERFLIES(NAME##_inverse_butterflies, A, B, false, 8) \
  PART(NAME##_forward_rest, A, B, Rest, ForwardPhases)    \
  COLUMNS(NAME##_forward_columns, A, B, false)            \
  PART(NAME##_inverse_rest, A, B, Rest, InversePhases)    \
  COLUMNS(NAME##_inverse_columns, A, B, true)

COUNTED(fp64_47, Fp64, Fp64Below<0>)
COUNTED(fp64_50, Fp64, Fp64Below<2>)
COUNTED(u64_50, U64, U64Lazy)
COUNTED(u64_60, U64, U64)
