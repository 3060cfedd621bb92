#include "rlwe/plaintext_files.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "math/error.hpp"
#include "rlwe/key_switch.hpp"
#include "rlwe/packed_rows.hpp"

namespace lw {
namespace {

constexpr std::uint16_t kRows = 1, kIntegers = 2;  // section kinds
constexpr std::uint32_t kLeastBits = 2, kMostBits = 62;
constexpr std::uint64_t kAlignment = 64;

std::uint64_t integer_bytes(std::uint32_t ring_degree, std::uint32_t bits) {
  return (std::uint64_t{ring_degree} * bits / 8 + kAlignment - 1) / kAlignment * kAlignment;
}

/// Canonical residues of one limb.
std::vector<Word> residues(const Ring& ring, const RnsPolys& x, std::size_t j) {
  std::vector<Word> words(ring.degree());
  constexpr std::size_t kOffset = 0;
  constexpr std::uint8_t kWidth = 64;
  ring.export_residues({reinterpret_cast<std::byte*>(words.data()), {&kOffset, 1}, {&kWidth, 1}}, x.view(0, 1, j, 1));
  return words;
}

/// The integers below 2^61 whose residues the limbs are, if there are such: found from two limbs, compared on all.
std::vector<std::int64_t> small_integers(const Ring& ring, ConstLimbView ntt) {
  const RnsPolys x = decompose(ring, ntt);
  const Modulus& first = ring.modulus(x.limbs()[0]);
  std::vector<std::int64_t> found;
  for (const Word word : residues(ring, x, 0)) found.push_back(first.centred(word));
  if (x.limbs().size() > 1) {
    const Modulus& second = ring.modulus(x.limbs()[1]);
    const std::uint64_t inverse = second.inverse(second.reduce(first.value()));
    const std::vector<Word> words = residues(ring, x, 1);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::uint64_t high = second.mul(second.sub(words[i], second.from_signed(found[i])), inverse);
      const I128 value = found[i] + static_cast<I128>(first.value()) * second.centred(high);
      constexpr I128 kBound = I128{1} << (kMostBits - 1);
      if (value >= kBound || value <= -kBound) return {};
      found[i] = static_cast<std::int64_t>(value);
    }
  }
  RnsPolys again(ring, x.limbs(), 1);
  ring.kernels().import_signed(ring.queue(), again.view(), found);
  for (std::size_t j = 0; j < x.limbs().size(); ++j) {
    if (residues(ring, again, j) != residues(ring, x, j)) return {};
  }
  return found;
}

/// Bits of two's complement that hold every one of them.
std::uint32_t bits_of(std::span<const std::int64_t> integers) {
  std::uint64_t magnitudes = 0;
  for (const std::int64_t x : integers) magnitudes |= static_cast<std::uint64_t>(x < 0 ? ~x : x);
  return std::max<std::uint32_t>(kLeastBits, static_cast<std::uint32_t>(std::bit_width(magnitudes)) + 1);
}

std::vector<std::uint8_t> pack(std::span<const std::int64_t> integers, std::uint32_t bits) {
  std::vector<std::uint8_t> out(integer_bytes(static_cast<std::uint32_t>(integers.size()), bits));
  U128 waiting = 0;
  std::uint32_t num_waiting = 0;
  std::size_t at = 0;
  for (const std::int64_t x : integers) {
    waiting |= static_cast<U128>(static_cast<std::uint64_t>(x) & ((std::uint64_t{1} << bits) - 1)) << num_waiting;
    for (num_waiting += bits; num_waiting >= 8; num_waiting -= 8, waiting >>= 8) {
      out[at++] = static_cast<std::uint8_t>(waiting);
    }
  }
  return out;
}

std::vector<std::int64_t> unpack(std::span<const std::uint8_t> stored, std::size_t count, std::uint32_t bits) {
  std::vector<std::int64_t> integers(count);
  U128 waiting = 0;
  std::uint32_t num_waiting = 0;
  std::size_t at = 0;
  for (std::int64_t& x : integers) {
    for (; num_waiting < bits; num_waiting += 8) waiting |= static_cast<U128>(stored[at++]) << num_waiting;
    const std::uint64_t low = static_cast<std::uint64_t>(waiting) << (64 - bits);
    x = static_cast<std::int64_t>(low) >> (64 - bits);
    waiting >>= bits;
    num_waiting -= bits;
  }
  return integers;
}

/// One plaintext as it is stored.
struct Stored {
  PackedLayout layout;
  std::vector<std::int64_t> integers;  // empty: as limbs
  std::uint32_t bits = 0;

  Writer::Declared section() const {
    if (bits == 0) return layout.section(kRows);
    const std::uint64_t bytes = integer_bytes(static_cast<std::uint32_t>(integers.size()), bits);
    return {kIntegers, bytes, {bytes}};
  }
};

Stored choose(const Plaintext& x, const Context& context) {
  Stored stored{PackedLayout(context.parameters(), x.residues->limbs(), 1), {}, 0};
  std::vector<std::int64_t> integers = small_integers(context.ring(), std::as_const(*x.residues).view());
  const std::uint32_t bits = bits_of(integers);
  if (integers.empty() || integer_bytes(context.degree(), bits) >= stored.layout.bytes()) return stored;
  stored.integers = std::move(integers);
  stored.bits = bits;
  return stored;
}

}  // namespace

std::vector<std::uint8_t> save_plaintexts(const std::optional<std::string>& path,
                                          std::span<const NamedPlaintext> plaintexts, const cbor::Map& extras,
                                          const Context& context) {
  cbor::Array items;
  std::vector<Stored> stored;
  std::vector<Writer::Declared> sections;
  for (const auto& [name, x] : plaintexts) {
    check_context(x.parameters, *x.residues, context, "save: plaintext " + name);
    if (x.encoding != Encoding::kSlots || x.is_unproved)
      throw Error(ErrorKind::kShape, "save: plaintext " + name + " holds coefficients or was made from residues");
    stored.push_back(choose(x, context));
    sections.push_back(stored.back().section());
    items.push_back(cbor::Map{{"name", name},
                              {"track", x.level.track},
                              {"index", x.level.index},
                              {"basis", static_cast<std::uint8_t>(x.basis)},
                              {"scale", x.scale},
                              {"slots", x.slots},
                              {"bits", stored.back().bits}});
  }
  const cbor::Map header{{"plaintexts", std::move(items)}, {"extras", extras}};
  Writer writer = make_writer(path, FileKind::kPlaintexts, context.parameters(), header, sections);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (stored[i].bits == 0) {
      stored[i].layout.write(writer, context.ring(), std::as_const(*plaintexts[i].value.residues).view());
    } else {
      writer.write(pack(stored[i].integers, stored[i].bits));
    }
  }
  return writer.commit();
}

PlaintextReader::PlaintextReader(const Source& source, const Context& context)
    : context_(context), reader_(open_container(source, FileKind::kPlaintexts, context.parameters())) {
  const cbor::Field header = reader_.header();
  header.require_keys({"plaintexts", "extras"});
  const cbor::Field items = header["plaintexts"];
  (void)extras();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const cbor::Field field = items[i];
    field.require_keys({"name", "track", "index", "basis", "scale", "slots", "bits"});
    StoredPlaintext item{
        std::string(field["name"].as_text()), {}, static_cast<std::uint32_t>(field["bits"].as_unsigned(kMostBits))};
    Plaintext& x = item.value;
    x.parameters = context.parameters().fingerprint();
    x.level = read_level(field, context.parameters());
    x.basis = static_cast<Basis>(field["basis"].as_unsigned(1));
    x.scale = read_scale(field["scale"]);
    x.slots = read_slots(field["slots"], context.degree());
    if (item.bits != 0 && item.bits < kLeastBits) field["bits"].fail("integers have 0 or at least 2 bits");
    const bool is_there = i < reader_.num_sections();
    if (is_there && reader_.section_info(i).kind != (item.bits == 0 ? kRows : kIntegers)) {
      field["bits"].fail("the section is of another kind");
    }
    items_.push_back(std::move(item));
  }
  if (reader_.num_sections() != items.size()) check_sections(reader_, kRows, items.size());
}

RnsPolys PlaintextReader::from_integers(std::size_t i, const LimbList& limbs, const std::string& what) const {
  const std::uint64_t expected = integer_bytes(context_.degree(), items_[i].bits);
  const bool is_row = reader_.num_rows(i) == 1 && reader_.unverified_row(i, 0).size() == expected;
  if (!is_row) {
    throw Error(ErrorKind::kFormat,
                what + ": its integers are not the one row of " + std::to_string(expected) + " bytes they should be");
  }
  reader_.will_need(i, 0, 1);
  if (!reader_.row_is_intact(i, 0)) {
    throw Error(ErrorKind::kFormat,
                what + ": its integers do not match their hash; the file was altered or is damaged, copy it again");
  }
  const Ring& ring = context_.ring();
  RnsPolys residues(ring, limbs, 1);
  ring.kernels().import_signed(ring.queue(), residues.view(),
                               unpack(reader_.unverified_row(i, 0), context_.degree(), items_[i].bits));
  ring.kernels().ntt(ring.queue(), residues.view(), residues.view());
  return residues;
}

Plaintext PlaintextReader::read(std::size_t i, Level to) const {
  const StoredPlaintext& item = items_.at(i);
  const std::string what = reader_.name() + ": plaintext " + item.name;
  require_readable(item.value.level, to, context_.parameters(), what);
  const LimbList limbs = context_.limbs(to, item.value.basis);
  Plaintext x = item.value;
  x.level = to;
  if (item.bits != 0) {
    x.residues = std::make_shared<const RnsPolys>(from_integers(i, limbs, what));
    return x;
  }
  const PackedLayout layout(context_.parameters(), context_.limbs(item.value.level, x.basis), 1);
  const std::uint32_t poly = 0;
  x.residues = std::make_shared<const RnsPolys>(layout.read(context_.ring(), reader_, i, {&poly, 1}, limbs, {what}));
  return x;
}

}  // namespace lw
