// The AVX2 and FMA entries of RowKernels.
#pragma once

#include "backend/cpu/row_kernels.hpp"

namespace lw::cpu::avx2 {

void ntt(Word* x, const NttTable& table) noexcept;
void intt(Word* x, const NttTable& table) noexcept;

void add(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
void sub(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
void neg(Word* out, const Word* a, std::size_t n) noexcept;
void mul(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
void mul_add(Word* out, const Word* a, const Word* b, std::size_t n, const Prime& p) noexcept;
void mul_scalar(Word* out, const Word* a, double scalar, std::size_t n, const Prime& p) noexcept;
void add_scalar(Word* out, const Word* a, double scalar, std::size_t n, const Prime& p) noexcept;
void sub_scale(Word* out, const Word* a, const Word* b, double scalar, std::size_t n, const Prime& p) noexcept;

void automorphism(Word* out, const Word* a, const std::uint32_t* block_reversal, std::uint32_t blocks,
                  std::uint32_t galois_element) noexcept;
void import_signed(Word* out, const std::int64_t* coefficients, std::size_t n, const Prime& p) noexcept;

void split(Word* const* y, Word* u, const SplitTerm* terms, std::size_t count, std::size_t n) noexcept;
void join(Word* out, const Word* const* y, const double* weights, std::size_t count, const Word* u, double u_weight,
          const Accumulator& accumulator, std::size_t n, const Prime& p) noexcept;
void dot(Word* out, const DotTerm* terms, std::size_t count, const Word* begin, const Accumulator& accumulator,
         std::size_t n, const Prime& p) noexcept;
void pair_dot(Word* const out[2], const PairTerm* terms, std::size_t count, const PairStart& begin,
              const Turned* turned, const Accumulator& accumulator, std::size_t n, const Prime& p) noexcept;

bool from_canonical(Word* out, const Word* words, std::size_t n, const Prime& p) noexcept;
void to_canonical(Word* words, const Word* in, std::size_t n, const Prime& p) noexcept;
bool unpack(Word* out, const std::byte* from, unsigned width, std::size_t n, const Prime& p) noexcept;
bool reduce_words(Word* out, const Word* words, std::uint64_t largest, std::size_t n, const Prime& p) noexcept;

void embed(double* x, std::size_t n, const double* roots) noexcept;
void unembed(double* x, std::size_t n, const double* roots) noexcept;

}  // namespace lw::cpu::avx2
