#include "ring/ring.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <string>

#include "math/brief_lock.hpp"
#include "math/error.hpp"
#include "math/primes.hpp"

namespace lw {
namespace {

constexpr std::uint32_t kMinDegree = 1u << 4;
constexpr std::uint32_t kMaxDegree = 1u << 17;
constexpr std::uint64_t kPrimeLimit = std::uint64_t{1} << 60;
constexpr std::size_t kMaxLimbs = 240;  // so that a base conversion's sum of 120-bit products fits

void check_ring(std::uint32_t degree, const std::vector<std::uint64_t>& primes) {
  const auto refuse = [](const std::string& what) { throw Error(ErrorKind::kValue, "Ring: " + what); };
  if (!std::has_single_bit(degree) || degree < kMinDegree || degree > kMaxDegree) {
    refuse("ring_degree " + std::to_string(degree) + " is not a power of two between 2^4 and 2^17");
  }
  if (primes.empty() || primes.size() > kMaxLimbs) {
    refuse(std::to_string(primes.size()) + " primes given; 1 to " + std::to_string(kMaxLimbs) + " are allowed");
  }
  const std::uint64_t two_n = 2 * std::uint64_t{degree};
  for (const std::uint64_t prime : primes) {
    const std::string name = "modulus " + std::to_string(prime);
    if (prime >= kPrimeLimit) refuse(name + " is not below 2^60");
    if (prime % two_n != 1) refuse(name + " is not 1 modulo 2N = " + std::to_string(two_n));
    if (!is_prime(prime)) refuse(name + " is not prime");
    if (std::count(primes.begin(), primes.end(), prime) > 1) refuse(name + " is given more than once");
  }
}

// The float64 nearest to 1 / q, also where q itself is not a float64.
double reciprocal(std::uint64_t q) {
  const double rounded = static_cast<double>(q);
  const double rest = static_cast<double>(static_cast<std::int64_t>(q - static_cast<std::uint64_t>(rounded)));
  const double guess = 1.0 / rounded;
  return std::fma(guess, std::fma(-guess, rounded, 1.0) - guess * rest, guess);
}

}  // namespace

Ring::Ring(std::uint32_t ring_degree, std::vector<std::uint64_t> primes, std::string_view backend, unsigned threads,
           const DeviceOptions& options)
    : degree_(ring_degree) {
  check_ring(ring_degree, primes);
  for (const std::uint64_t prime : primes) moduli_.emplace_back(prime);
  backend_ = make_backend(backend, ring_degree, primes, threads, options);
}

const BaseConversionTable& Ring::base_conversion_table(std::span<const std::uint16_t> from,
                                                       std::span<const std::uint16_t> to) const {
  LimbList sources(from.begin(), from.end());
  std::sort(sources.begin(), sources.end());
  const LimbList targets(to.begin(), to.end());

  const BriefLock lock;
  std::unique_ptr<BaseConversionTable>& entry = conversions_[{sources, targets}];
  if (entry == nullptr) {
    auto table = std::make_unique<BaseConversionTable>();
    table->number = new_table_number();
    table->from = sources;
    table->to = targets;
    table->total = product_mod(sources, targets);
    table->weight.resize(targets.size() * sources.size());
    for (std::size_t j = 0; j < sources.size(); ++j) {
      LimbList others = sources;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(j));
      table->inverse.push_back(inverse_product_mod(others, {&sources[j], 1}).front());
      table->reciprocal.push_back(reciprocal(modulus(sources[j]).value()));
      const std::vector<Word> column = product_mod(others, targets);
      for (std::size_t t = 0; t < targets.size(); ++t) table->weight[t * sources.size() + j] = column[t];
    }
    entry = std::move(table);
  }
  return *entry;
}

std::vector<Word> Ring::residues(I128 value, std::span<const std::uint16_t> limbs) const {
  const U128 magnitude = value < 0 ? 0 - static_cast<U128>(value) : static_cast<U128>(value);
  std::vector<Word> result;
  for (const std::uint16_t limb : limbs) {
    const Modulus& m = modulus(limb);
    const Word residue = m.reduce(magnitude);
    result.push_back(value < 0 ? m.neg(residue) : residue);
  }
  return result;
}

std::vector<Word> Ring::half_weights(std::int64_t real, std::int64_t imaginary,
                                     std::span<const std::uint16_t> limbs) const {
  std::vector<Word> result;
  for (const std::uint16_t limb : limbs) {
    const Modulus& m = modulus(limb);
    const Word first = m.from_signed(real);
    const Word turned = imaginary == 0 ? 0 : m.mul(m.from_signed(imaginary), root_of_minus_one(limb));
    result.insert(result.end(), {m.add(first, turned), m.sub(first, turned)});
  }
  return result;
}

/// The value of X^(N/2) at the first half of a limb: position j has the value at psi^(2 bitrev(j) + 1).
Word Ring::root_of_minus_one(std::uint16_t limb) const {
  const BriefLock lock;
  Word& root = roots_[limb];
  if (root == 0) {
    const Modulus& m = modulus(limb);
    root = m.pow(smallest_primitive_root(m.value(), 2 * std::uint64_t{degree_}), degree_ / 2);
  }
  return root;
}

std::vector<Word> Ring::product_mod(std::span<const std::uint16_t> of, std::span<const std::uint16_t> limbs) const {
  std::vector<Word> result;
  for (const std::uint16_t limb : limbs) {
    const Modulus& m = modulus(limb);
    Word product = 1;
    for (const std::uint16_t factor : of) product = m.mul(product, m.reduce(modulus(factor).value()));
    result.push_back(product);
  }
  return result;
}

std::vector<Word> Ring::inverse_product_mod(std::span<const std::uint16_t> of,
                                            std::span<const std::uint16_t> limbs) const {
  std::vector<Word> result = product_mod(of, limbs);
  for (std::size_t i = 0; i < limbs.size(); ++i) result[i] = modulus(limbs[i]).inverse(result[i]);
  return result;
}

void Ring::export_residues(const PackedLimbsOut& canonical, ConstLimbView in) const {
  kernels().export_residues(queue(), canonical, in);
  device().check(queue());
}

bool Ring::import_residues(LimbView out, const PackedLimbs& canonical) const {
  const bool all_reduced = kernels().import_residues(queue(), out, canonical);
  device().check(queue());
  return all_reduced;
}

bool Ring::import_seeded(LimbView stored, LimbView expanded, const PackedLimbs& canonical, const UniformStream& stream,
                         FastSum* sum) const {
  const bool all_reduced = kernels().import_seeded(queue(), stored, expanded, canonical, stream, sum);
  device().check(queue());
  return all_reduced;
}

RnsPolys::RnsPolys(const Ring& ring, LimbList limbs, std::uint32_t polys)
    : buffer_(std::make_shared<Buffer>(ring.device().allocate(polys * limbs.size() * ring.stride() * sizeof(Word)))),
      limbs_(std::make_unique<LimbList>(std::move(limbs))),
      polys_(polys),
      stride_(ring.stride()),
      poly_stride_(limbs_->size() * stride_),
      form_(ring.backend().form()) {}

RnsPolys::RnsPolys(const Ring& ring, LimbList limbs, std::shared_ptr<Buffer> read_only, std::size_t first_word)
    : buffer_(std::move(read_only)),
      limbs_(std::make_unique<LimbList>(std::move(limbs))),
      polys_(1),
      stride_(ring.stride()),
      poly_stride_(limbs_->size() * stride_),
      first_(first_word),
      form_(ring.backend().form()) {}

RnsPolys RnsPolys::prefix(std::size_t count) const {
  RnsPolys view;
  view.buffer_ = buffer_;
  view.limbs_ = std::make_unique<LimbList>(limbs_->begin(), limbs_->begin() + static_cast<std::ptrdiff_t>(count));
  view.polys_ = polys_;
  view.stride_ = stride_;
  view.poly_stride_ = poly_stride_;
  view.first_ = first_;
  view.form_ = form_;
  return view;
}

RnsPolys RnsPolys::part(std::uint32_t first, std::uint32_t count) const {
  RnsPolys view = prefix(limbs_->size());
  view.polys_ = count;
  view.first_ += first * poly_stride_;
  return view;
}

std::shared_ptr<const RnsPolys> RnsPolys::copy_in(const ResidueForm& form) const {
  const BriefLock lock;
  const auto found = std::ranges::find_if(copies_, [&](const auto& copy) { return copy->form() == form; });
  return found == copies_.end() ? nullptr : *found;
}

void RnsPolys::keep(std::shared_ptr<const RnsPolys> copy) const {
  std::vector<std::shared_ptr<const RnsPolys>> lost;  // they go without the lock
  const BriefLock lock;
  const auto whole = std::stable_partition(copies_.begin(), copies_.end(), [](const auto& c) { return !c->is_lost(); });
  lost.assign(std::move_iterator(whole), std::move_iterator(copies_.end()));
  copies_.erase(whole, copies_.end());
  copies_.push_back(std::move(copy));
}

LimbView RnsPolys::view(std::uint32_t poly, std::uint32_t polys, std::size_t first, std::size_t count) noexcept {
  if (!copies_.empty()) copies_.clear();
  return {buffer_->to_write() + first_ + poly * poly_stride_ + first * stride_, stride_, poly_stride_,
          std::span(*limbs_).subspan(first, count), polys};
}

ConstLimbView RnsPolys::view(std::uint32_t poly, std::uint32_t polys, std::size_t first,
                             std::size_t count) const noexcept {
  return {std::as_const(*buffer_).to_read() + first_ + poly * poly_stride_ + first * stride_, stride_, poly_stride_,
          std::span(*limbs_).subspan(first, count), polys};
}

namespace {

/// Copies words that mean the same in both memories, one of which is the host's.
RnsPolys copy_words(const Ring& from, const RnsPolys& residues, const Ring& to) {
  RnsPolys copy(to, residues.limbs(), residues.polys());
  const std::size_t to_step = to.stride() * sizeof(Word), from_step = from.stride() * sizeof(Word);
  const std::size_t limbs = residues.limbs().size(), bytes = from.degree() * sizeof(Word);
  for (std::uint32_t poly = 0; poly < residues.polys(); ++poly) {
    const StridedCopy part = {
        copy.view(poly, 1, 0, limbs).base, residues.view(poly, 1, 0, limbs).base, bytes, limbs, to_step, from_step};
    if (residues.form().is_on_host()) {
      to.device().upload(to.queue(), part);
    } else {
      from.device().download(from.queue(), part);
    }
  }
  return copy;
}

/// Copies through canonical residues.
RnsPolys copy_canonical(const Ring& from, const RnsPolys& residues, const Ring& to) {
  const std::size_t limbs = residues.limbs().size();
  std::vector<Word> words(limbs * from.degree());  // of one poly
  std::vector<std::size_t> offsets(limbs);
  for (std::size_t j = 0; j < limbs; ++j) offsets[j] = j * from.degree() * sizeof(Word);
  const std::vector<std::uint8_t> widths(limbs, 64);
  std::byte* const bytes = reinterpret_cast<std::byte*>(words.data());
  RnsPolys copy(to, residues.limbs(), residues.polys());
  for (std::uint32_t poly = 0; poly < residues.polys(); ++poly) {
    from.export_residues({bytes, offsets, widths}, residues.view(poly, 1, 0, limbs));
    static_cast<void>(to.import_residues(copy.view(poly, 1, 0, limbs), {bytes, offsets, widths}));
  }
  return copy;
}

}  // namespace

RnsPolys copy_of(const Ring& from, const RnsPolys& residues, const Ring& to) {
  const ResidueForm held = residues.form(), wanted = to.backend().form();
  const bool is_one_on_host = held.is_on_host() || wanted.is_on_host();
  return held.words == wanted.words && is_one_on_host ? copy_words(from, residues, to)
                                                      : copy_canonical(from, residues, to);
}

}  // namespace lw
