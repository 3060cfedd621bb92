// The arithmetic of `cpu`, row by row: one table for each instruction set, chosen once at run time. Batching, threads
// and broadcasting are above it. Rows are 8-byte aligned at least; their length n is a multiple of 16 except where said
// otherwise. `out` may alias inputs, and ranges are those of prime.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/prime.hpp"
#include "backend/cpu/tables.hpp"

namespace lw::cpu {

struct RowKernels {
  void (*ntt)(Word* x, const NttTable& table) noexcept;
  void (*intt)(Word* x, const NttTable& table) noexcept;

  void (*add)(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
  void (*sub)(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
  void (*neg)(Word* out, const Word* a, std::size_t n) noexcept;
  void (*mul)(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
  void (*mul_add)(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
  // scalar: centred
  void (*mul_scalar)(Word* out, const Word* a, double scalar, std::size_t n, const Prime& p) noexcept;
  void (*add_scalar)(Word* out, const Word* a, double scalar, std::size_t n, const Prime& p) noexcept;
  void (*sub_scale)(Word* out, const Word* a, const Word* b, double scalar, std::size_t n, const Prime& p) noexcept;

  // x -> x(X^g). block_reversal[i] is i with its log2(blocks) bits reversed; 4 * blocks words. No aliasing.
  void (*automorphism)(Word* out, const Word* a, const std::uint32_t* block_reversal, std::uint32_t blocks,
                       std::uint32_t galois_element) noexcept;

  // Any integers of magnitude < 2^62.
  void (*import_signed)(Word* out, const std::int64_t* coefficients, std::size_t n, const Prime& p) noexcept;
};

/// For a machine with AVX2 and FMA.
extern const RowKernels kAvx2Rows;

}  // namespace lw::cpu
