#include <algorithm>

#include "backend/limb_stream.hpp"
#include "backend/ref/kernels.hpp"
#include "backend/ref/queue.hpp"
#include "math/fast_sum.hpp"

namespace lw::ref {

void expand_uniform(Queue& q, LimbView out, const UniformStream& stream) noexcept {
  constexpr std::size_t kCycles = 16;
  constexpr std::size_t kChunkWords = 1024;  // drawn at once
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, kCycles, [&](std::size_t poly, std::size_t j) {
    const Modulus m = queue.moduli[out.limbs[j]];
    const Word largest_accepted = ~Word{0} / m.value() * m.value() - 1;
    const LimbStream words(stream, out.limbs[j]);
    Word* x = out.limb(poly, j);
    for (std::size_t start = 0; start < queue.degree; start += kChunkWords) {
      const std::size_t size = std::min<std::size_t>(kChunkWords, queue.degree - start);
      words.first_round(start, {x + start, size});
      for (std::size_t i = start; i < start + size; ++i) x[i] = m.reduce(words.accepted(i, x[i], largest_accepted));
    }
  });
}

bool import_seeded(Queue& q, LimbView stored, LimbView expanded, const PackedLimbs& packed, const UniformStream& stream,
                   FastSum* sum) noexcept {
  if (sum != nullptr) sum->update(packed.limb_bytes(0, ref_queue(q).degree));
  expand_uniform(q, expanded, stream);
  return import_residues(q, stored, packed);
}

}  // namespace lw::ref
