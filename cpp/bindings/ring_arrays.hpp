// Limbs of a ring as NumPy arrays of canonical residues, and back: what the bindings of kernels share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <vector>

#include "math/error.hpp"
#include "ring/ring.hpp"

namespace lw {

namespace nb = nanobind;

using ResidueArray = nb::ndarray<const Word, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<nb::numpy, Word, nb::ndim<3>>;

inline void require(bool condition, ErrorKind kind, const std::string& message) {
  if (!condition) throw Error(kind, message);
}

/// Throws unless every limb number exists.
void check_limbs(const Ring& ring, const LimbList& limbs);

/// Byte offsets of limbs that lie one after the other, coefficients of widths[j] bits; the last is the end.
std::vector<std::size_t> packed_offsets(const Ring& ring, const std::vector<std::uint8_t>& widths, std::size_t polys);
/// The same for limbs of one width a limb that take `bytes` bytes, or an error.
std::vector<std::size_t> checked_offsets(const Ring& ring, std::size_t bytes, const std::vector<std::uint8_t>& widths,
                                         const LimbList& limbs, std::size_t polys);
/// Throws unless the packed residues that a kernel took were all below their primes.
void require_reduced(bool all_reduced);
RnsPolys import_packed(const Ring& ring, const void* data, std::size_t bytes, const std::vector<std::uint8_t>& widths,
                       const LimbList& limbs, std::uint32_t polys);
void export_packed(const Ring& ring, void* data, const std::vector<std::uint8_t>& widths, const RnsPolys& residues);

/// An array of shape (polys, limbs, N) as limbs, and back.
RnsPolys load(const Ring& ring, const ResidueArray& array, const LimbList& limbs);
Result store(const Ring& ring, const RnsPolys& residues);

template <class T>
nb::capsule own(std::unique_ptr<T[]>& data) {
  return nb::capsule(data.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
}

// Runs a kernel without the GIL on new limbs, and returns these.
template <class Kernel>
Result compute(const Ring& ring, const LimbList& limbs, std::uint32_t polys, Kernel kernel) {
  check_limbs(ring, limbs);
  RnsPolys out(ring, limbs, polys);
  {
    const nb::gil_scoped_release release;
    kernel(ring.queue(), out.view());
  }
  return store(ring, out);
}

/// The kernels that fuse a key switch or a mod_down.
void bind_fused_kernels(nb::class_<Ring>& ring);

}  // namespace lw
