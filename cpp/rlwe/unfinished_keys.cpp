#include "rlwe/unfinished_keys.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "math/error.hpp"
#include "rlwe/key_generator.hpp"

namespace lw {
namespace {

constexpr std::uint8_t kMagic[8] = {'L', 'W', 'P', 'A', 'R', 'T', '1', '\n'};
constexpr std::size_t kHashBytes = sizeof(Hash), kSumBytes = sizeof(std::uint64_t);
constexpr std::size_t kNoteBytes = kHashBytes + kSumBytes + kHashBytes + kHashBytes;  // seed, sum, hash, all together
constexpr std::size_t kTrailerBytes = sizeof kMagic + sizeof(KeySetId) + kHashBytes;  // magic, key set, identity

struct Trailer {
  KeySetId id{};
  Hash identity{};
};

std::optional<Trailer> read_trailer(const std::string& path) {
  std::uint8_t bytes[kTrailerBytes];
  if (!PartialFile::read_end(path, bytes)) return std::nullopt;
  if (!std::equal(std::begin(kMagic), std::end(kMagic), bytes)) return std::nullopt;
  Trailer trailer;
  std::memcpy(trailer.id.data(), bytes + sizeof kMagic, trailer.id.size());
  std::memcpy(trailer.identity.data(), bytes + sizeof kMagic + trailer.id.size(), kHashBytes);
  return trailer;
}

/// The head of a file that lost its notes because it was complete, and not its name.
std::optional<Reader> read_complete(const std::string& name) {
  try {
    return Reader::open(name, {{FileKind::kEvaluationKeys}});
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_sparse(const KeySpec& spec) { return spec.kind == KeyKind::kToSparse || spec.kind == KeyKind::kToDense; }

}  // namespace

std::optional<KeySetId> UnfinishedKeys::owner(const std::string& path) {
  if (const std::optional<Trailer> trailer = read_trailer(path)) return trailer->id;
  if (const std::optional<Reader> reader = read_complete(PartialFile::name_of(path)))
    return read_key_set(reader->header()["key_set"]);
  return std::nullopt;
}

bool UnfinishedKeys::remove(const std::string& path) {
  if (::access(PartialFile::name_of(path).c_str(), F_OK) != 0) return false;
  PartialFile(path).remove();
  return true;
}

UnfinishedKeys::UnfinishedKeys(const std::string& path, const KeySetId& id, std::vector<KeySpec> specs,
                               const Context& context, bool continues)
    : context_(context), id_(id), specs_(std::move(specs)), notes_(specs_.size()), noted_(specs_.size()) {
  const Parameters& parameters = context.parameters();
  std::vector<Writer::Declared> sections;
  check_key_specs(specs_, parameters);
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    notes_[i].seed.object = i;
    layouts_.push_back(evaluation_layout(specs_[i], parameters));
    sections.push_back(evaluation_section(layouts_.back()));
  }
  const std::vector<std::uint8_t> head = cbor::encode(header());  // seeds are still zeros
  Blake3 hasher;
  hasher.update(kMagic);
  hasher.update(parameters.fingerprint());
  hasher.update(head);
  identity_ = hasher.finalize();

  file_ = std::make_shared<PartialFile>(path);
  writer_.emplace(file_, FileKind::kEvaluationKeys, parameters.fingerprint(), header(), sections);
  const std::uint64_t notes_bytes = kNoteBytes * specs_.size() + kTrailerBytes;
  if (!continues) {
    file_->clear();
  } else if (const std::optional<Trailer> trailer = read_trailer(path)) {
    if (trailer->id != id_ || trailer->identity != identity_) {
      throw Error(ErrorKind::kParameterMismatch,
                  file_->name() +
                      ": are unfinished keys of another program or another key set; continue them with "
                      "the client file that they were begun with, or remove the folder and begin anew");
    }
    for (std::size_t i = 0; i < specs_.size(); ++i) noted_[i] = read_note(i);
  } else if (adopt_complete()) {
    return;
  }
  file_->reserve(writer_->total_bytes(), notes_bytes);
  std::vector<std::uint8_t> trailer(std::begin(kMagic), std::end(kMagic));
  trailer.insert(trailer.end(), id_.begin(), id_.end());
  trailer.insert(trailer.end(), identity_.begin(), identity_.end());
  file_->write_at(writer_->total_bytes() + kNoteBytes * specs_.size(), trailer);
  file_->sync();  // before there is a secret key that needs it to be known as unfinished
}

cbor::Map UnfinishedKeys::header() const {
  std::vector<SeedRef> seeds;
  for (const Note& note : notes_) seeds.push_back(note.seed);
  return evaluation_header(id_, specs_, seeds);
}

std::vector<std::uint8_t> UnfinishedKeys::encode_note(std::size_t i, const Note& note) const {
  std::vector<std::uint8_t> bytes(kNoteBytes);
  std::uint8_t* out = std::copy(note.seed.seed.begin(), note.seed.seed.end(), bytes.data());
  std::memcpy(out, &note.sum, kSumBytes);
  out = std::copy(note.hash.begin(), note.hash.end(), out + kSumBytes);
  std::uint8_t number[sizeof(std::uint64_t)];
  const std::uint64_t place = i;
  std::memcpy(number, &place, sizeof place);
  Blake3 hasher;
  hasher.update(identity_);
  hasher.update(number);
  hasher.update(std::span(bytes).first(kNoteBytes - kHashBytes));
  const Hash together = hasher.finalize();
  std::copy(together.begin(), together.end(), out);
  return bytes;
}

bool UnfinishedKeys::read_note(std::size_t i) {
  std::vector<std::uint8_t> bytes(kNoteBytes);
  if (!file_->read_at(writer_->total_bytes() + kNoteBytes * i, bytes)) return false;
  Note note = notes_[i];
  std::memcpy(note.seed.seed.data(), bytes.data(), kHashBytes);
  std::memcpy(&note.sum, bytes.data() + kHashBytes, kSumBytes);
  std::memcpy(note.hash.data(), bytes.data() + kHashBytes + kSumBytes, kHashBytes);
  if (encode_note(i, note) != bytes) return false;
  notes_[i] = note;
  return true;
}

/// A writer that ended between cutting off the notes and giving the file its name left nothing to be done but that.
bool UnfinishedKeys::adopt_complete() {
  if (file_->size() != writer_->total_bytes() || !read_complete(file_->name())) return false;
  const EvaluationKeyFile keys(Source{file_->name(), {}}, context_);
  if (keys.id() != id_ || keys.size() != specs_.size()) return false;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (keys.spec(i) != specs_[i]) return false;
  }
  file_->reserve(writer_->total_bytes(), 0);
  return is_complete_ = true;
}

bool UnfinishedKeys::is_whole(std::size_t i) const {
  if (!noted_[i]) return false;
  Section section = writer_->section(i);
  section.hash = notes_[i].hash;
  return holds_rows(*file_, section);
}

bool UnfinishedKeys::has_sparse_pair() const {
  const Note* first = nullptr;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (!is_sparse(specs_[i])) continue;
    if (first == nullptr) first = &notes_[i];
    if (notes_[i].seed.seed != first->seed.seed || !is_whole(i)) return false;
  }
  return true;
}

bool UnfinishedKeys::keep(std::size_t i) {
  bool found = is_complete_;
  if (!is_complete_ && is_sparse(specs_.at(i))) {
    if (!has_sparse_pair_) has_sparse_pair_ = has_sparse_pair();
    found = *has_sparse_pair_;
  } else if (!is_complete_) {
    found = is_whole(i);
  }
  if (!found) return false;
  if (!is_complete_) writer_->skip(notes_[i].sum, notes_[i].hash);
  ++num_kept_;
  return true;
}

void UnfinishedKeys::write(std::size_t i, const EvaluationKey& key) {
  layouts_.at(i).write(*writer_, context_.host().ring(), key.b->view());
  const Section& section = writer_->section(i);
  notes_[i] = {key.seed, section.sum, section.hash};
  file_->write_at(writer_->total_bytes() + kNoteBytes * i, encode_note(i, notes_[i]));
}

void UnfinishedKeys::commit() {
  if (is_complete_) {
    file_->commit();
  } else {
    writer_->set_header(header());
    writer_->commit();
  }
}

void UnfinishedKeys::remove() { file_->remove(); }

}  // namespace lw
