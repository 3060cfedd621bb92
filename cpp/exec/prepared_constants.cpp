#include "exec/prepared_constants.hpp"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
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

constexpr std::uint64_t kFormat = 1;
constexpr std::uint16_t kPlaintextRows = 1, kNames = 2;  // section kinds
constexpr std::chrono::milliseconds kLookEvery{20}, kMostWait{60'000};

/// A record of the file: a name, and what its plaintexts say of themselves.
struct PreparedRecord {
  PreparedName name;
  double scale = 1.0;
  std::uint64_t basis = 0;
};
static_assert(sizeof(PreparedRecord) == 56);

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

/// The rows of a file, one after the other, as they are in memory.
class PreparedRows {
 public:
  explicit PreparedRows(const Reader& reader) : reader_(reader), section_(reader.find(kPlaintextRows)) {
    starts_.push_back(0);
    for (std::size_t row = 0; row < reader.num_rows(section_); ++row) {
      starts_.push_back(starts_.back() + reader.unverified_row(section_, row).size());
    }
  }

  std::size_t size() const noexcept { return starts_.size() - 1; }
  std::uint64_t bytes() const noexcept { return starts_.back(); }
  std::uint64_t start(std::size_t row) const noexcept { return starts_[row]; }
  std::uint64_t bytes_of(std::size_t row) const noexcept { return starts_[row + 1] - starts_[row]; }
  /// The hash of their table commits to every one of them.
  std::string memory_name() const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string name = "latticework-prepared-";
    for (const std::uint8_t byte : reader_.section_info(section_).hash) {
      name += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
    return name;
  }

  void copy(const SealedMemory::Sink& sink, const Tick& tick) const {
    std::vector<std::uint8_t> buffer;
    for (std::size_t row = 0; row < size(); ++row) {
      call(tick);
      buffer.resize(bytes_of(row));
      reader_.read_row(section_, row, buffer);
      if (!is_intact(row, buffer)) {
        throw Error(ErrorKind::kFormat, reader_.name() + ": plaintext " + std::to_string(row) +
                                            " does not match its hash; the file was altered or is damaged, run "
                                            "`latticework prepare` again");
      }
      sink(start(row), buffer);
    }
  }

  bool are_in(const SealedMemory& memory, const Tick& tick) const {
    for (std::size_t row = 0; row < size(); ++row) {
      call(tick);
      if (!is_intact(row, memory.bytes().subspan(start(row), bytes_of(row)))) return false;
    }
    return true;
  }

 private:
  bool is_intact(std::size_t row, std::span<const std::uint8_t> content) const {
    return reader_.is_written(section_, row, content, fast_sum(content));
  }

  const Reader& reader_;
  std::size_t section_;
  std::vector<std::uint64_t> starts_;
};

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

struct ToPrepare {
  std::uint32_t constant;
  std::optional<std::uint32_t> product;
  ValueType type;
};

std::vector<ToPrepare> constants_to_prepare(const Plan& plan, const PlaintextProvider& provider) {
  std::vector<ToPrepare> found;
  std::set<PreparedName> known;
  for_each_constant(plan, provider, [&](std::uint32_t constant, std::optional<std::uint32_t> product, ValueType type) {
    if (known.insert(PreparedName::of(constant, product, type)).second) found.push_back({constant, product, type});
  });
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
                             PlaintextProvider& provider, const PreparedFor& belongs, const Tick& tick) {
  require_host(context, path);
  const Ring& ring = context.ring();
  const std::vector<ToPrepare> wanted = constants_to_prepare(plan, provider);
  if (wanted.empty()) throw Error(ErrorKind::kValue, path + ": the plan encodes no constants, so none can be prepared");
  std::vector<PreparedRecord> records;
  Writer::Declared rows{kPlaintextRows, 0};
  for (const ToPrepare& one : wanted) {
    const Basis basis = plain_basis(one.type);
    const double scale = context.parameters().is_bfv() ? 1.0 : one.type.scale;
    records.push_back(
        {PreparedName::of(one.constant, one.product, one.type), scale, static_cast<std::uint64_t>(basis)});
    const std::uint64_t bytes = context.limbs(one.type.level, basis).size() * ring.stride() * sizeof(Word);
    rows.row_bytes.insert(rows.row_bytes.end(), one.type.count, bytes);
    rows.bytes += one.type.count * bytes;
  }
  const std::vector<Writer::Declared> sections{{kNames, records.size() * sizeof(PreparedRecord)}, rows};
  const cbor::Map header{{"prepared", kFormat},
                         {"plan", std::vector<std::uint8_t>(belongs.plan.begin(), belongs.plan.end())},
                         {"build", belongs.build},
                         {"machine", machine_of(context)}};
  Writer writer(path, FileKind::kPrepared, context.parameters().fingerprint(), header, sections);
  writer.write({reinterpret_cast<const std::uint8_t*>(records.data()), records.size() * sizeof(PreparedRecord)});
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
                                     const PreparedFor& belongs, const Tick& tick)
    : context_(std::move(context)) {
  require_host(*context_, path);
  const Reader reader = open_container({path, {}}, FileKind::kPrepared, context_->parameters());
  check_owner(reader.descriptor(), path);
  check_belongs(reader, *context_, belongs);
  const PreparedRows rows(reader);
  const std::size_t stride = context_->ring().stride();
  std::size_t row = 0;
  for (const PreparedRecord& record : read_records(reader)) {
    const Level level{record.name.track, record.name.level};
    const auto fail = [&] {
      throw Error(ErrorKind::kFormat, path + ": plaintext " + std::to_string(row) + " is not what its name says");
    };
    if (!context_->parameters().has_level(level) || record.basis > 1 || record.name.count == 0 ||
        !std::isfinite(record.name.scale) || !std::isfinite(record.scale))
      fail();
    const Basis basis = static_cast<Basis>(record.basis);
    const std::size_t bytes = context_->limbs(level, basis).size() * stride * sizeof(Word);
    if (record.name.count > rows.size() - row) fail();
    places_[record.name] = {rows.start(row) / sizeof(Word), record.scale, basis};
    for (std::uint32_t i = 0; i < record.name.count; ++i, ++row) {
      if (rows.bytes_of(row) != bytes) fail();
    }
  }
  if (row != rows.size()) throw Error(ErrorKind::kFormat, path + ": has plaintexts without a name");
  memory_ = share(rows, reader.descriptor(), tick);
  struct Held {
    std::shared_ptr<const SealedMemory> memory;
    Buffer words;
  };
  const auto held = std::make_shared<Held>(memory_, Buffer::read_only(memory_->bytes()));
  words_ = std::shared_ptr<Buffer>(held, &held->words);
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

}  // namespace lw
