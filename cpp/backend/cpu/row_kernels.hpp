// The arithmetic of `cpu`, row by row: one table for each instruction set, chosen once at run time. Batching, threads
// and broadcasting are above it. Rows are 8-byte aligned at least; their length n is a multiple of four vectors except
// where said otherwise. `out` may alias inputs, and ranges are those of prime.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/accumulator.hpp"
#include "backend/cpu/prime.hpp"
#include "backend/cpu/sum_rows.hpp"
#include "backend/cpu/tables.hpp"
#include "math/chacha20.hpp"

namespace lw::cpu {

/// A row of packed coefficients, of which the first `count` are unpacked by vectors: a multiple of 8. `out` is aligned
/// to 64 bytes.
struct PackedRow {
  Word* out;
  const std::byte* from;
  unsigned width;
  std::size_t count;
  bool all_reduced = true;  // false once a word was not below q
};

constexpr std::size_t kExpandStep = 128;  // words

struct RowKernels {
  void (*ntt)(Word* out, const Word* x, const NttTable& table) noexcept;
  void (*intt)(Word* out, const Word* x, const NttTable& table) noexcept;
  // ntt of a polynomial whose coefficient N - i is minus coefficient i and coefficient N / 2 zero; x is its first half,
  // and may be the second half of `out`. From degree kMirroredDegree on.
  void (*ntt_mirrored)(Word* out, const Word* x, const NttTable& table) noexcept;

  void (*add)(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
  void (*sub)(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
  void (*neg)(Word* out, const Word* a, std::size_t n) noexcept;
  void (*mul)(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
  void (*mul_add)(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
  // scalar: centred
  void (*mul_scalar)(Word* out, const Word* a, double scalar, std::size_t n, const Prime& p) noexcept;
  void (*add_scalar)(Word* out, const Word* a, double scalar, std::size_t n, const Prime& p) noexcept;
  void (*sub_scale)(Word* out, const Word* a, const Word* b, double scalar, std::size_t n, const Prime& p) noexcept;

  // x -> x(X^g). block_reversal[i] is i, the number of a block of 4 words, with its bits reversed. No aliasing.
  void (*automorphism)(Word* out, const Word* a, const std::uint32_t* block_reversal, std::uint32_t degree,
                       std::uint32_t galois_element) noexcept;

  // Sums of products, with an accumulator made for them (accumulator.hpp).
  // y[j] = centred(x_j * inverse_j), u = rint(sum of y_j * reciprocal_j), which a single term does not need.
  void (*split)(Word* const* y, Word* u, const SplitTerm* terms, std::size_t count, std::size_t n) noexcept;
  // out = sum_j y[j] * weights[j] + u * u_weight; without u where that is null. A single y needs neither u nor an
  // accumulator.
  void (*join)(Word* out, const Word* const* y, const double* weights, std::size_t count, const Word* u,
               double u_weight, const Accumulator& accumulator, std::size_t n, const Prime& p) noexcept;
  // out = begin + sum of a * b; begin may be null.
  void (*dot)(Word* out, const DotTerm* terms, std::size_t count, const Word* begin, const Accumulator& accumulator,
              std::size_t n, const Prime& p) noexcept;
  // The same for two sums with a common factor; turned may be null, and else rows are whole.
  void (*pair_dot)(Word* const out[2], const PairTerm* terms, std::size_t count, const PairStart& begin,
                   const Turned* turned, const Accumulator& accumulator, std::size_t n, const Prime& p) noexcept;

  // Any integers of magnitude < 2^62.
  void (*import_signed)(Word* out, const std::int64_t* coefficients, std::size_t n, const Prime& p) noexcept;

  // Balanced words of canonical ones, and back. from_canonical and unpack return false, and write anything, if a word
  // is not below q. unpack reads coefficients of `width` <= 57 bits, packed, and up to 16 bytes beyond the last.
  bool (*from_canonical)(Word* out, const Word* words, std::size_t n, const Prime& p) noexcept;
  void (*to_canonical)(Word* words, const Word* in, std::size_t n, const Prime& p) noexcept;
  bool (*unpack)(Word* out, const std::byte* from, unsigned width, std::size_t n, const Prime& p) noexcept;
  // Words [first, n) modulo q of the keystream whose first block is made from `state`, and the same coefficients of
  // `packed`, which may be null, as far as it goes. first and the result are multiples of kExpandStep; it stops after a
  // step with words above `largest`, which are not right, and returns where that began, else n. Where a row is
  // unpacked, `out` is aligned to 64 bytes, and both are written past the caches.
  std::size_t (*expand)(Word* out, std::size_t first, std::size_t n, const ChaChaState& state, Word largest,
                        const Prime& p, PackedRow* packed) noexcept;

  // The stages of the embedding between values in bit-reversed order and slots: n >= 2 complex numbers.
  void (*embed)(double* x, std::size_t n, const double* roots) noexcept;
  void (*unembed)(double* x, std::size_t n, const double* roots) noexcept;
};

/// For a machine with AVX2 and FMA.
extern const RowKernels kAvx2Rows;
/// For one with AVX-512 too, namely F, DQ, BW and VL; from degree kAvx512Degree on.
extern const RowKernels kAvx512Rows;
constexpr std::uint32_t kAvx512Degree = 32;
constexpr std::uint32_t kMirroredDegree = 64;  // whose half has passes before its tails in any of them

}  // namespace lw::cpu
