// Operands of the limb kernels that sum products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/prime.hpp"
#include "backend/kernels.hpp"
#include "backend/matmul_way.hpp"

namespace lw::cpu {

/// One source limb of a base conversion: y = centred(x * inverse), v += y * reciprocal.
struct SplitTerm {
  const Word* x;
  const Prime* prime;
  double inverse;  // centred
  double reciprocal;
};

struct DotTerm {
  const Word *a, *b;
};

/// common * own[0] and common * own[1], for two sums.
struct PairTerm {
  const Word* common;
  const Word* own[2];
};

/// Initial values of the two sums: scalar * limbs[half], or zero where that is null.
struct PairStart {
  const Word* limbs[2];
  double scalar;  // centred; 1: as the limbs are
};

/// Results are stored where the automorphism of galois element g puts them.
struct OutputAutomorphism {
  const std::uint32_t* block_reversal;     // of the aligned blocks of 4 words
  std::uint32_t element, inverse_element;  // g and g^-1 modulo 2N
  bool past_caches = false;                // to limbs at whole lines, which nothing reads soon
};

// Terms and columns of a matrix product that are kept near at a time: 256 KiB of residues, on the stack of a thread.
constexpr std::size_t kMatmulTerms = 256, kMatmulColumns = 128;

/// Words from `start` on of one limb of every row and every term. weights: [term][row].
struct MatmulTile {
  std::span<const LimbView> out;
  std::span<const ConstLimbView> a;
  const std::int32_t* weights;
  std::size_t poly, j, start;
};

}  // namespace lw::cpu
