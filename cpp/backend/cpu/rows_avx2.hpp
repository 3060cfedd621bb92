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

}  // namespace lw::cpu::avx2
