// How an automorphism reorders the four words of an aligned block, in bit-reversed positions: word k goes to or comes
// from the lane whose reversed number is reverse(k) g + turn modulo 4.
#pragma once

#include <cstdint>

namespace lw::cpu {

// As indices of 32-bit halves: [g mod 4 == 3][turn].
alignas(32) constexpr std::int32_t kLaneOrders[2][4][8] = {
    {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 2, 3, 0, 1}, {2, 3, 0, 1, 6, 7, 4, 5}, {6, 7, 4, 5, 0, 1, 2, 3}},
    {{0, 1, 2, 3, 6, 7, 4, 5}, {4, 5, 6, 7, 0, 1, 2, 3}, {2, 3, 0, 1, 4, 5, 6, 7}, {6, 7, 4, 5, 2, 3, 0, 1}},
};

}  // namespace lw::cpu
