#include "backend/cpu/rows_avx2.hpp"

namespace lw::cpu {

const RowKernels kAvx2Rows = {
    .ntt = avx2::ntt,
    .intt = avx2::intt,
    .add = avx2::add,
    .sub = avx2::sub,
    .neg = avx2::neg,
    .mul = avx2::mul,
    .mul_add = avx2::mul_add,
    .mul_scalar = avx2::mul_scalar,
    .add_scalar = avx2::add_scalar,
    .sub_scale = avx2::sub_scale,
    .automorphism = avx2::automorphism,
    .import_signed = avx2::import_signed,
};

}  // namespace lw::cpu
