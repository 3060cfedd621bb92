// All kernels of the GPU backend, in the order of their numbers.
#pragma once

#include "backend/gpu/fp64.hpp"
#include "backend/gpu/kernels/automorphism.hpp"
#include "backend/gpu/kernels/base_conversion.hpp"
#include "backend/gpu/kernels/base_convert_limbs.hpp"
#include "backend/gpu/kernels/base_convert_ntt.hpp"
#include "backend/gpu/kernels/dot.hpp"
#include "backend/gpu/kernels/embedding.hpp"
#include "backend/gpu/kernels/giant_sums.hpp"
#include "backend/gpu/kernels/key_product.hpp"
#include "backend/gpu/kernels/matmul.hpp"
#include "backend/gpu/kernels/matrix_product.hpp"
#include "backend/gpu/kernels/messages.hpp"
#include "backend/gpu/kernels/monomial.hpp"
#include "backend/gpu/kernels/ntt.hpp"
#include "backend/gpu/kernels/ntt_cluster.hpp"
#include "backend/gpu/kernels/ntt_columns.hpp"
#include "backend/gpu/kernels/ntt_lanes.hpp"
#include "backend/gpu/kernels/ntt_stage.hpp"
#include "backend/gpu/kernels/ntt_sub_scale.hpp"
#include "backend/gpu/kernels/pointwise.hpp"
#include "backend/gpu/kernels/rates.hpp"
#include "backend/gpu/kernels/residues.hpp"
#include "backend/gpu/kernels/sampled.hpp"
#include "backend/gpu/kernels/tensor.hpp"
#include "backend/gpu/kernels/uniform.hpp"
#include "backend/gpu/kernels/weighted_sum.hpp"
#include "backend/gpu/u64.hpp"

namespace lw::gpu {

template <template <class> class... Kernel>
struct KernelsOf {
  /// Each of them with each arithmetic, after `First`.
  template <class... First>
  using List = KernelList<First..., Kernel<Fp64>..., Kernel<U64>...>;
};

template <class Op>
struct PointwiseOf {
  template <class A>
  using Kernel = Pointwise<A, Op>;
};

template <class Radix>
struct TilesOf {
  template <class A>
  using Forward = ForwardNtt<A, Radix, FullTile<Radix>>;
  template <class A>
  using Inverse = InverseNtt<A, Radix, FullTile<Radix>>;
  template <class A>
  using ForwardAny = ForwardNtt<A, Radix, AnyTile<Radix>>;
  template <class A>
  using InverseAny = InverseNtt<A, Radix, AnyTile<Radix>>;
};

using RingKernels = KernelsOf<
    PointwiseOf<CopyOp>::Kernel,
#define LW_POINTWISE(name, parameters, arguments) PointwiseOf<operations::name>::Kernel,
#include "backend/kernels.def"
    Monomial, Dot, TensorProduct, ForwardStage, InverseStage, ForwardLanes, InverseLanes, ForwardCluster,
    InverseCluster, ForwardColumns, InverseColumns, TilesOf<Radix2>::Forward, TilesOf<Radix2>::Inverse,
    TilesOf<Radix2>::ForwardAny, TilesOf<Radix2>::InverseAny, TilesOf<Radix4>::Forward, TilesOf<Radix4>::Inverse,
    TilesOf<Radix4>::ForwardAny, TilesOf<Radix4>::InverseAny, TilesOf<Radix8>::Forward, TilesOf<Radix8>::Inverse,
    TilesOf<Radix8>::ForwardAny, TilesOf<Radix8>::InverseAny, TilesOf<Radix16>::Forward, TilesOf<Radix16>::Inverse,
    TilesOf<Radix16>::ForwardAny, TilesOf<Radix16>::InverseAny, NttSubScale, BaseConvert, BaseConvertLimbs,
    BaseConvertNtt, BaseConvertNttSubScale, KeyProduct, GiantSums, ImportSigned, UnpackResidues, PackResidues,
    ExpandUniform, SampledResidues, AtSecret, ReadMessages, MatrixProduct, WeightedSum,
    IntegerMatmul>::List<Automorphism, StreamKeys, EmbeddingStage<true>, EmbeddingStage<false>, EmbedTile, UnembedTile>;

template <class List, class... More>
struct AppendedTo;
template <class... K, class... More>
struct AppendedTo<KernelList<K...>, More...> {
  using List = KernelList<K..., More...>;
};

using AllKernels =
    AppendedTo<RingKernels, CopyRate, ReadRate, ComputeRate<FmaOp>, ComputeRate<WideMultiplyAddOp>>::List;

}  // namespace lw::gpu
