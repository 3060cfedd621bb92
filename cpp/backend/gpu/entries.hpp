// The functions of lw::Kernels as launches of kernels; contracts in backend/kernels.def.
#pragma once

#include "backend/gpu/arithmetic.hpp"
#include "backend/kernels.hpp"

namespace lw::gpu {

/// The kernel table for the queues of rings with this arithmetic.
const lw::Kernels& entries_of(Arithmetic arithmetic) noexcept;

template <class A>
struct LimbEntries {
#define LW_LIMB(result, name, parameters) static result name parameters noexcept;
#include "backend/kernels.def"
};

template <class A>
struct TransformEntries {
#define LW_TRANSFORM(result, name, parameters) static result name parameters noexcept;
#include "backend/kernels.def"
  /// Forward transforms in their place in two steps, which go through memory once each: the first stages, if all are
  /// too many for one, and the others.
  static void ntt_begin(Queue& q, LimbView x) noexcept;
  static void ntt_end(Queue& q, LimbView x) noexcept;
  /// The second step, with (a - result) * scalar for each limb; x is scratch afterwards.
  static void ntt_end_sub_scale(Queue& q, LimbView out, ConstLimbView a, LimbView x,
                                std::span<const Word> scalars) noexcept;
};

/// Some targets of a base conversion that follow each other.
struct ConversionPart {
  const BaseConversionTable* table;
  ConstLimbView in;
  std::size_t first, count;
};

template <class A>
struct ConversionEntries {
#define LW_CONVERSION(result, name, parameters) static result name parameters noexcept;
#include "backend/kernels.def"
  /// Parts, whose limbs follow each other in `out`, and what of their transforms can be done at once. Where there are
  /// several, they have one poly. Returns whether ntt_end is left to be done.
  static bool convert_ntt_begin(Queue& q, LimbView out, std::span<const ConversionPart> parts) noexcept;
  /// (a - transform of the converted part) * scalar for each limb of out; scratch: as many limbs.
  static void convert_ntt_sub_scale(Queue& q, LimbView out, ConstLimbView a, const ConversionPart& part,
                                    std::span<const Word> scalars, Word* scratch) noexcept;
};

template <class A>
struct SwitchEntries {
#define LW_SWITCH(result, name, parameters) static result name parameters noexcept;
#include "backend/kernels.def"
};

template <class A>
struct ResidueEntries {
#define LW_RESIDUE(result, name, parameters) static result name parameters noexcept;
#include "backend/kernels.def"
};

}  // namespace lw::gpu
