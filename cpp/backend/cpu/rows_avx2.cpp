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
    .split = avx2::split,
    .join = avx2::join,
    .dot = avx2::dot,
    .pair_dot = avx2::pair_dot,
    .import_signed = avx2::import_signed,
    .from_canonical = avx2::from_canonical,
    .to_canonical = avx2::to_canonical,
    .unpack = avx2::unpack,
    .reduce_words = avx2::reduce_words,
    .embed = avx2::embed,
    .unembed = avx2::unembed,
};

}  // namespace lw::cpu
