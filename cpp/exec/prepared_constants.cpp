#include "exec/prepared_constants.hpp"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "exec/plan_constants.hpp"
#include "io/file_calls.hpp"
#include "math/error.hpp"
#include "math/fast_sum.hpp"
#include "rlwe/file_source.hpp"

namespace lw {
namespace {

constexpr std::uint64_t kFormat = 3;
constexpr std::uint16_t kPlaintextRows = 1, kNames = 2;  // section kinds
constexpr std::chrono::milliseconds kLookEvery{20}, kMostWait{60'000};

/// A record of the file: a name, what its plaintexts say of themselves, and whether their rows are coefficients.
struct PreparedRecord {
  PreparedName name;
  double scale = 1.0;
  std::uint64_t basis = 0, is_coefficients = 0;
};
static_assert(sizeof(PreparedRecord) == 64);

/// The beginning of a row of coefficients, as processors have it.
struct CoefficientHead {
  std::uint64_t count, width, is_mirrored, bytes;
  std::uint64_t zeros[4];  // the words that follow begin a line of a cache
};
static_assert(sizeof(CoefficientHead) == 64);

std::uint64_t row_bytes_of(const Integers& integers) noexcept {
  return sizeof(CoefficientHead) + (integers.used_bytes() + 63) / 64 * 64;
}

const char* vectors_name() noexcept {
  switch (widest_vectors()) {
    case VectorSet::kAvx512:
      return "AVX-512";
    case VectorSet::kAvx2:
      return "AVX2";
    default:
      return "the processor's common instructions";
  }
}

/// What the words of residues depend on.
cbor::Map machine_of(const Context& context) {
  const Backend& backend = context.ring().backend();
  return {{"backend", std::string(backend.name())},
          {"words", std::string(backend.form().words)},
          {"vectors", std::string(vectors_name())},
          {"stride", std::uint64_t{context.ring().stride()}}};
}

std::string in_words(cbor::Field machine) {
  return "backend " + std::string(machine["backend"].as_text()) + " with " + std::string(machine["vectors"].as_text()) +
         " (words: " + std::string(machine["words"].as_text()) + ")";
}

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kParameterMismatch, path + ": " + what +
                                                 "; nothing is lost: run `latticework prepare` on this machine, for "
                                                 "the plan that is run");
}

void check_belongs(const Reader& reader, const Context& context, const PreparedFor& belongs) {
  const cbor::Field header = reader.header();
  const std::uint64_t format = header["prepared"].as_unsigned();
  if (format != kFormat) refuse(reader.name(), "the file has format " + std::to_string(format) + " of constants");
  header.require_keys({"prepared", "plan", "build", "machine"});
  if (const std::string_view build = header["build"].as_text(); build != belongs.build) {
    refuse(reader.name(), "the constants were encoded by another build of latticework (" + std::string(build) +
                              ") than this one (" + belongs.build + ")");
  }
  if (read_hash(header["plan"]) != belongs.plan) refuse(reader.name(), "the constants are those of another plan");
  const cbor::Value here = machine_of(context);
  const cbor::Field machine = header["machine"];
  machine.require_keys({"backend", "words", "vectors", "stride"});
  const cbor::Field ours(here, "this server");
  const auto is_same = [&](const char* name) { return machine[name].as_text() == ours[name].as_text(); };
  if (!is_same("backend") || !is_same("words") || !is_same("vectors") ||
      machine["stride"].as_unsigned() != ours["stride"].as_unsigned()) {
    refuse(reader.name(), "the constants are for " + in_words(machine) + ", and this server has " + in_words(ours));
  }
}

/// Whoever can write the file says what a server computes.
void check_owner(int fd, const std::string& path) {
  struct stat status;
  if (::fstat(fd, &status) != 0) fail_io(path, "inspect", errno);
  const bool is_ours = status.st_uid == ::geteuid() || status.st_uid == 0;
  if (is_ours && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return;
  throw Error(ErrorKind::kSecurity,
              path + ": " + (is_ours ? "other users may write the file" : "the file belongs to another user") +
                  ", who could change what a server computes; run `latticework prepare` as the user of the server, and "
                  "let nobody else write the file (chmod go-w)");
}

/// One process copies a file into memory, others wait until it has, but not for ever.
class CopyingTurn {
 public:
  explicit CopyingTurn(int fd) noexcept : fd_(fd) {}
  ~CopyingTurn() {
    if (is_ours_) (void)::flock(fd_, LOCK_UN);
  }
  CopyingTurn(const CopyingTurn&) = delete;
  CopyingTurn& operator=(const CopyingTurn&) = delete;

  void wait(const Tick& tick) {
    const auto deadline = std::chrono::steady_clock::now() + kMostWait;
    for (;;) {
      is_ours_ = ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
      if (is_ours_ || errno != EWOULDBLOCK || std::chrono::steady_clock::now() > deadline) return;
      call(tick);
      std::this_thread::sleep_for(kLookEvery);
    }
  }

 private:
  int fd_;
  bool is_ours_ = false;
};

/// Rows of a file, those of some records, one after the other, as they are in memory.
class PreparedRows {
 public:
  explicit PreparedRows(const Reader& reader) : reader_(reader), section_(reader.find(kPlaintextRows)) {}

  std::size_t num_in_file() const { return reader_.num_rows(section_); }
  std::uint64_t bytes_in_file(std::size_t row) const { return reader_.unverified_row(section_, row).size(); }
  /// Takes a row. Returns where it begins.
  std::uint64_t take(std::size_t row) {
    rows_.push_back(row);
    starts_.push_back(starts_.back() + bytes_in_file(row));
    return starts_[rows_.size() - 1];
  }
  bool empty() const noexcept { return rows_.empty(); }
  std::uint64_t bytes() const noexcept { return starts_.back(); }
  /// The hash of their table and their numbers commits to every one of them.
  std::string memory_name() const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::vector<std::uint8_t> content(reader_.section_info(section_).hash.begin(),
                                      reader_.section_info(section_).hash.end());
    const auto* const numbers = reinterpret_cast<const std::uint8_t*>(rows_.data());
    content.insert(content.end(), numbers, numbers + rows_.size() * sizeof(rows_[0]));
    std::string name = "latticework-prepared-";
    for (const std::uint8_t byte : blake3(content)) name += {kDigits[byte >> 4], kDigits[byte & 15]};
    return name;
  }

  void copy(const SealedMemory::Sink& sink, const Tick& tick) const {
    std::vector<std::uint8_t> buffer;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      call(tick);
      buffer.resize(bytes_of(i));
      reader_.read_row(section_, rows_[i], buffer);
      if (!is_intact(i, buffer)) {
        throw Error(ErrorKind::kFormat, reader_.name() + ": plaintext " + std::to_string(rows_[i]) +
                                            " does not match its hash; the file was altered or is damaged, run "
                                            "`latticework prepare` again");
      }
      sink(starts_[i], buffer);
    }
  }

  bool are_in(const SealedMemory& memory, const Tick& tick) const {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      call(tick);
      if (!is_intact(i, memory.bytes().subspan(starts_[i], bytes_of(i)))) return false;
    }
    return true;
  }

 private:
  std::uint64_t bytes_of(std::size_t i) const noexcept { return starts_[i + 1] - starts_[i]; }
  bool is_intact(std::size_t i, std::span<const std::uint8_t> content) const {
    return reader_.is_written(section_, rows_[i], content, fast_sum(content));
  }

  const Reader& reader_;
  std::size_t section_;
  std::vector<std::size_t> rows_;
  std::vector<std::uint64_t> starts_{0};
};

/// A record, the rows that are its own, and their bytes.
struct RecordRows {
  PreparedRecord record;
  std::size_t first_row;
  std::uint64_t bytes = 0;
};

/// What a budget holds, of records in the order of their worth: all plaintexts if they fit; else coefficients, as many
/// as fit, and then plaintexts.
std::vector<bool> choose(std::span<const RecordRows> all, std::uint64_t budget_bytes) {
  std::uint64_t whole = 0;
  for (const RecordRows& one : all) whole += one.record.is_coefficients != 0 ? 0 : one.bytes;
  std::set<PreparedName> has_whole;
  for (const RecordRows& one : all) {
    if (one.record.is_coefficients == 0) has_whole.insert(one.record.name.of_coefficients());
  }
  std::vector<bool> chosen(all.size());
  const auto take = [&](std::uint64_t is_coefficients, const auto& is_wanted) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].record.is_coefficients != is_coefficients || all[i].bytes > budget_bytes || !is_wanted(all[i])) {
        continue;
      }
      chosen[i] = true;
      budget_bytes -= all[i].bytes;
    }
  };
  const auto any = [](const RecordRows&) { return true; };
  if (whole <= budget_bytes) {  // coefficients only of what has nothing else in the file
    take(0, any);
    take(1, [&](const RecordRows& one) { return !has_whole.contains(one.record.name); });
  } else {
    take(1, any);
    take(0, any);
  }
  return chosen;
}

std::shared_ptr<const SealedMemory> share(const PreparedRows& rows, int fd, const Tick& tick) {
  const std::string name = rows.memory_name();
  const auto find = [&]() -> std::shared_ptr<const SealedMemory> {
    auto found = SealedMemory::find(name, rows.bytes());
    return found != nullptr && rows.are_in(*found, tick) ? found : nullptr;
  };
  if (auto found = find()) return found;
  CopyingTurn turn(fd);
  turn.wait(tick);
  if (auto found = find()) return found;
  return SealedMemory::make(name, rows.bytes(), [&](const SealedMemory::Sink& sink) { rows.copy(sink, tick); });
}

std::vector<PreparedRecord> read_records(const Reader& reader) {
  const std::span<const std::uint8_t> bytes = reader.section(reader.find(kNames));
  std::vector<PreparedRecord> records(bytes.size() / sizeof(PreparedRecord));
  if (records.size() * sizeof(PreparedRecord) != bytes.size()) {
    throw Error(ErrorKind::kFormat, reader.name() + ": its names are not whole records");
  }
  std::memcpy(records.data(), bytes.data(), bytes.size());
  return records;
}

Basis plain_basis(const ValueType& type) noexcept { return type.is_addend ? Basis::kQ : type.basis; }

std::vector<std::uint8_t> bytes_of_limbs(const RnsPolys& residues, const Ring& ring) {
  const std::size_t limb_bytes = ring.degree() * sizeof(Word), step = ring.stride() * sizeof(Word);
  std::vector<std::uint8_t> bytes(residues.limbs().size() * step);  // zero between limbs
  for (std::size_t j = 0; j < residues.limbs().size(); ++j) {
    std::memcpy(bytes.data() + j * step, residues.view(0, 1, j, 1).base, limb_bytes);
  }
  return bytes;
}

std::vector<std::uint8_t> bytes_of_integers(const Integers& integers) {
  const IntegerView view = integers.view();
  const CoefficientHead head{view.count, view.width, view.is_mirrored, integers.used_bytes(), {}};
  std::vector<std::uint8_t> bytes(row_bytes_of(integers));
  std::memcpy(bytes.data(), &head, sizeof(head));
  std::memcpy(bytes.data() + sizeof(head), view.words, integers.used_bytes());
  return bytes;
}

/// Coefficients in memory, from their row, whose words are what its head says; a null pointer where they are not.
std::shared_ptr<const Integers> integers_in(const std::shared_ptr<const SealedMemory>& memory, std::uint64_t start,
                                            std::uint64_t bytes, std::size_t degree) {
  CoefficientHead head;
  if (bytes < sizeof(head)) return nullptr;
  std::memcpy(&head, memory->bytes().data() + start, sizeof(head));
  const bool is_count = std::has_single_bit(head.count) && head.count <= degree;
  const bool is_width = (head.width >= 2 && head.width <= 6) || head.width == 8;
  if (!is_count || !is_width || head.is_mirrored > 1 || (head.is_mirrored == 1 && head.count < 2)) return nullptr;
  const IntegerView form{nullptr, head.count, static_cast<std::uint32_t>(head.width), head.is_mirrored == 1};
  if (head.bytes != form.num_bytes() || sizeof(head) + head.bytes > bytes) return nullptr;
  struct Held {
    std::shared_ptr<const SealedMemory> memory;
    Integers integers;
  };
  Buffer words_of_it = Buffer::read_only(memory->bytes().subspan(start + sizeof(head), head.bytes));
  const auto found = std::make_shared<Held>(memory, Integers(form, std::move(words_of_it)));
  return {found, &found->integers};
}

struct ToPrepare {
  std::uint32_t constant;
  std::optional<std::uint32_t> product;
  ValueType type;
  double uses;  // in a run
};

/// What a run uses most comes first.
std::vector<ToPrepare> constants_to_prepare(const Plan& plan, const PlaintextProvider& provider,
                                            std::span<const double> uses) {
  std::vector<ToPrepare> found;
  std::set<PreparedName> known;
  for_each_constant(plan, provider, [&](std::uint32_t constant, std::optional<std::uint32_t> product, ValueType type) {
    if (!known.insert(PreparedName::of(constant, product, type)).second) return;
    found.push_back({constant, product, type, constant < uses.size() ? uses[constant] : 0.0});
  });
  std::ranges::stable_sort(found, std::greater<>(), &ToPrepare::uses);
  return found;
}

void require_host(const Context& context, const std::string& path) {
  if (context.ring().backend().form().is_on_host()) return;
  throw Error(ErrorKind::kValue, path +
                                     ": prepared constants are for the memory of the host, and these computations "
                                     "are on a device, which encodes by itself; leave prepared= out");
}

}  // namespace

PreparedName PreparedName::of(std::uint32_t constant, std::optional<std::uint32_t> product,
                              const ValueType& type) noexcept {
  return {constant,
          product.value_or(kNoProduct),
          type.slots,
          type.count,
          type.scale,
          type.level.track,
          type.level.index,
          static_cast<std::uint32_t>(type.basis),
          type.is_addend ? 1u : 0u};
}

std::uint64_t write_prepared(const std::string& path, const Context& context, const Plan& plan,
                             PlaintextProvider& provider, std::span<const double> uses, std::uint64_t most_whole,
                             const PreparedFor& belongs, const Tick& tick) {
  require_host(context, path);
  const Ring& ring = context.ring();
  std::vector<ToPrepare> wanted = constants_to_prepare(plan, provider, uses);
  if (wanted.empty()) throw Error(ErrorKind::kValue, path + ": the plan encodes no constants, so none can be prepared");
  std::vector<PreparedRecord> records;
  Writer::Declared rows{kPlaintextRows, 0};
  std::vector<ToPrepare> rounded;
  std::set<PreparedName> known;
  for (const ToPrepare& one : wanted) {  // a first time, for their sizes
    const PreparedName name = PreparedName::of(one.constant, one.product, one.type).of_coefficients();
    if (!known.insert(name).second) continue;
    call(tick);
    records.push_back({name, 1.0, 0, 1});
    rounded.push_back(one);
    for (const auto& vector : provider.coefficients(one.constant, one.product, one.type)) {
      rows.row_bytes.push_back(row_bytes_of(*vector));
    }
  }
  std::erase_if(wanted, [&](const ToPrepare& one) {
    const Basis basis = plain_basis(one.type);
    const std::uint64_t bytes = context.limbs(one.type.level, basis).size() * ring.stride() * sizeof(Word);
    if (one.type.count * bytes > most_whole) return true;
    most_whole -= one.type.count * bytes;
    const double scale = context.parameters().is_bfv() ? 1.0 : one.type.scale;
    records.push_back(
        {PreparedName::of(one.constant, one.product, one.type), scale, static_cast<std::uint64_t>(basis), 0});
    rows.row_bytes.insert(rows.row_bytes.end(), one.type.count, bytes);
    return false;
  });
  for (const std::uint64_t bytes : rows.row_bytes) rows.bytes += bytes;
  const std::vector<Writer::Declared> sections{{kNames, records.size() * sizeof(PreparedRecord)}, rows};
  const cbor::Map header{{"prepared", kFormat},
                         {"plan", std::vector<std::uint8_t>(belongs.plan.begin(), belongs.plan.end())},
                         {"build", belongs.build},
                         {"machine", machine_of(context)}};
  Writer writer(path, FileKind::kPrepared, context.parameters().fingerprint(), header, sections);
  writer.write({reinterpret_cast<const std::uint8_t*>(records.data()), records.size() * sizeof(PreparedRecord)});
  for (const ToPrepare& one : rounded) {
    call(tick);
    for (const auto& vector : provider.coefficients(one.constant, one.product, one.type)) {
      writer.write(bytes_of_integers(*vector));
    }
  }
  for (const ToPrepare& one : wanted) {
    call(tick);
    for (const Plaintext& made : provider.acquire(one.constant, one.product, one.type)) {
      writer.write(bytes_of_limbs(*made.residues, ring));
    }
  }
  (void)writer.commit();
  return writer.total_bytes();
}

PreparedConstants::PreparedConstants(std::shared_ptr<const Context> context, const std::string& path,
                                     const PreparedFor& belongs, std::uint64_t budget_bytes, const Tick& tick)
    : context_(std::move(context)) {
  require_host(*context_, path);
  const Reader reader = open_container({path, {}}, FileKind::kPrepared, context_->parameters());
  check_owner(reader.descriptor(), path);
  check_belongs(reader, *context_, belongs);
  PreparedRows rows(reader);
  const std::size_t stride = context_->ring().stride();
  std::size_t row = 0;
  const auto fail = [&](std::size_t number) {
    throw Error(ErrorKind::kFormat, path + ": plaintext " + std::to_string(number) + " is not what its name says");
  };
  std::vector<RecordRows> all;
  for (const PreparedRecord& record : read_records(reader)) {
    const Level level{record.name.track, record.name.level};
    if (!context_->parameters().has_level(level) || record.basis > 1 || record.is_coefficients > 1 ||
        record.name.count == 0 || !std::isfinite(record.name.scale) || !std::isfinite(record.scale) ||
        record.name.count > rows.num_in_file() - row)
      fail(row);
    const std::size_t limbs = context_->limbs(level, static_cast<Basis>(record.basis)).size();
    RecordRows& one = all.emplace_back(RecordRows{record, row});
    for (std::uint32_t i = 0; i < record.name.count; ++i, ++row) {
      const std::uint64_t bytes = rows.bytes_in_file(row);
      if (record.is_coefficients == 0 && bytes != limbs * stride * sizeof(Word)) fail(row);
      one.bytes += bytes;
    }
  }
  if (row != rows.num_in_file()) throw Error(ErrorKind::kFormat, path + ": has plaintexts without a name");
  const std::vector<bool> chosen = choose(all, budget_bytes);
  std::vector<std::uint64_t> starts;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::uint32_t k = 0; chosen[i] && k < all[i].record.name.count; ++k) {
      starts.push_back(rows.take(all[i].first_row + k));
    }
  }
  if (rows.empty()) return;
  memory_ = share(rows, reader.descriptor(), tick);
  struct Held {
    std::shared_ptr<const SealedMemory> memory;
    Buffer words;
  };
  const auto held = std::make_shared<Held>(memory_, Buffer::read_only(memory_->bytes()));
  words_ = std::shared_ptr<Buffer>(held, &held->words);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!chosen[i]) continue;
    const PreparedRecord& record = all[i].record;
    const std::size_t first = taken;
    taken += record.name.count;
    if (record.is_coefficients == 0) {
      places_[record.name] = {starts[first] / sizeof(Word), record.scale, static_cast<Basis>(record.basis)};
      continue;
    }
    for (std::uint32_t k = 0; k < record.name.count; ++k) {
      const std::uint64_t bytes = rows.bytes_in_file(all[i].first_row + k);
      auto integers = integers_in(memory_, starts[first + k], bytes, context_->degree());
      if (integers == nullptr) fail(all[i].first_row + k);
      coefficients_[record.name].push_back(std::move(integers));
    }
  }
}

std::vector<Plaintext> PreparedConstants::find(std::uint32_t constant, std::optional<std::uint32_t> product,
                                               const ValueType& type) const {
  const auto place = places_.find(PreparedName::of(constant, product, type));
  if (place == places_.end()) return {};
  const auto& [first, scale, basis] = place->second;
  const LimbList limbs = context_->limbs(type.level, basis);
  std::vector<Plaintext> found;
  for (std::uint32_t i = 0; i < type.count; ++i) {
    const std::size_t at = first + i * limbs.size() * context_->ring().stride();
    found.push_back({std::make_shared<const RnsPolys>(context_->ring(), limbs, words_, at), type.level, basis, scale,
                     type.slots, context_->parameters().fingerprint()});
  }
  return found;
}

std::vector<std::shared_ptr<const Integers>> PreparedConstants::find_coefficients(std::uint32_t constant,
                                                                                  std::optional<std::uint32_t> product,
                                                                                  const ValueType& type) const {
  const auto place = coefficients_.find(PreparedName::of(constant, product, type).of_coefficients());
  return place == coefficients_.end() ? std::vector<std::shared_ptr<const Integers>>() : place->second;
}

}  // namespace lw
