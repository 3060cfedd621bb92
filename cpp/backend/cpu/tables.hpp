// Constants of the negacyclic transform modulo one prime, as the vector kernels read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cpu/prime.hpp"

namespace lw::cpu {

/// w[m + i] = psi^bitrev(m + i), centred, is the factor of block i in the stage of m blocks; the inverse factor of that
/// block is -w[2m - 1 - i], so one table serves both directions.
struct NttTable {
  NttTable(std::uint32_t ring_degree, std::uint64_t prime);

  Prime prime;
  std::size_t degree;
  unsigned range;              // which limb of the tables of NttRanges holds for this prime
  std::vector<double> heads;   // w[0 .. N/4)
  std::vector<double> tails;   // per group of 16 positions: 4 of w[N/4 ..), the even and the odd of 8 of w[N/2 ..)
  double inverse_degree;       // 1/N
  double inverse_degree_root;  // w[1]/N: the last inverse stage also divides by N
};

}  // namespace lw::cpu
