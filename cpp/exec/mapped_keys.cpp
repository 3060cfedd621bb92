#include "exec/mapped_keys.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "exec/key_store.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

constexpr std::size_t kAheadLimbs = std::size_t{1} << 17;  // that are announced: what comes after them is not foretold

std::size_t find_key(const EvaluationKeyFile& file, const KeySpec& spec, std::uint32_t ring_degree) {
  if (const auto key = file.find(spec)) return *key;
  throw Error(ErrorKind::kMissingKey,
              "the key file does not hold the " + describe(spec, ring_degree) + " for " + to_string(spec.level));
}

/// The windows of a run, announced as far ahead as Belady's rule is to look.
struct Announced {
  std::shared_ptr<KeyStore> store;
  Tick tick;
  KeyLimbWindows windows;
  bool is_in_use = false;  // the first window

  /// Lets go of the window in use.
  void retire() {
    if (!is_in_use) return;
    is_in_use = false;
    store->retire_first(windows);
  }
};

/// A way through the windows of one pass.
class MappedPass final : public KeyPass {
 public:
  MappedPass(Announced& run, std::vector<const KeyView*> keys, std::vector<std::uint64_t> galois_elements)
      : run_(run), keys_(std::move(keys)), elements_(std::move(galois_elements)) {}
  ~MappedPass() override { run_.retire(); }

  KeyWindow next() override {
    run_.retire();
    if (run_.windows.empty() || run_.windows.front().keys != keys_ || run_.windows.front().limbs.first != next_) {
      throw Error(ErrorKind::kValue, "a run reads other rows of keys than were foretold");
    }
    run_.store->wait(run_.windows, run_.tick);
    run_.is_in_use = true;
    const LimbWindow limbs = run_.windows.front().limbs;
    next_ = limbs.first + limbs.count;
    pointers_.clear();
    pointers_.reserve(2 * keys_.size());
    views_.clear();
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      std::vector<const Word*>&b = pointers_.emplace_back(), &a = pointers_.emplace_back();
      for (std::size_t d = 0; d < keys_[k]->digits.size(); ++d) {
        for (std::size_t i = limbs.first; i < next_; ++i) {
          const ConstLimbView halves = keys_[k]->limb(d, i).place->view();
          b.push_back(halves.limb(0, 0));
          a.push_back(halves.limb(1, 0));
        }
      }
      views_.push_back({b, a, elements_[k]});
    }
    return {limbs, views_};
  }

  void share() const override {
    run_.windows.front().for_each([](const KeyLimb& key_limb) { key_limb.place->view(); });
  }

 private:
  Announced& run_;
  const std::vector<const KeyView*> keys_;
  const std::vector<std::uint64_t> elements_;
  std::size_t next_ = 0;
  std::vector<std::vector<const Word*>> pointers_;
  std::vector<KeyLimbs> views_;
};

/// The keys of the use that a run has come to.
class MappedUse final : public SwitchKeys {
 public:
  MappedUse(Announced& run, const EvaluationKeyFile& file, std::vector<std::size_t> keys,
            std::vector<const KeyView*> views)
      : run_(run), file_(file), keys_(std::move(keys)), views_(std::move(views)) {}

  std::size_t size() const noexcept override { return keys_.size(); }
  const KeySpec& spec(std::size_t k) const override { return file_.spec(keys_[k]); }
  const KeySetId& id() const override { return file_.id(); }
  void check(const Context&, const std::string&) const override {}  // limbs are made for the context of the run
  std::unique_ptr<KeyPass> read(std::span<const std::size_t> which, std::span<const std::uint32_t> digits,
                                const LimbList& limbs) const override {
    if (which.empty()) return HeldKeys(std::vector<const EvaluationKey*>()).read(which, digits, limbs);
    std::vector<const KeyView*> views;
    std::vector<std::uint64_t> elements;
    for (const std::size_t k : which) {
      views.push_back(views_[k]);
      elements.push_back(spec(k).kind == KeyKind::kGalois ? spec(k).galois_element : 1);
      if (views_[k]->limbs != limbs ||
          !std::equal(digits.begin(), digits.end(), views_[k]->digits.begin(), views_[k]->digits.end())) {
        throw Error(ErrorKind::kValue, "a run reads a key at another level than was foretold");
      }
    }
    return std::make_unique<MappedPass>(run_, std::move(views), std::move(elements));
  }

 private:
  Announced& run_;
  const EvaluationKeyFile& file_;
  std::vector<std::size_t> keys_;
  std::vector<const KeyView*> views_;
};

class MappedRun final : public KeyRun {
 public:
  MappedRun(std::shared_ptr<KeyStore> store, std::shared_ptr<const Context> context,
            std::shared_ptr<const EvaluationKeyFile> file, std::unique_ptr<KeyUses> uses, Tick tick)
      : context_(std::move(context)), file_(std::move(file)), uses_(std::move(uses)) {
    run_.store = std::move(store);
    run_.tick = std::move(tick);
    announce();
    run_.store->advance(run_.windows);
  }
  ~MappedRun() override {
    if (run_.store->is_ours()) run_.store->retire_all(run_.windows);
  }

  const SwitchKeys& next() override {
    announce();
    run_.store->advance(run_.windows);
    if (ahead_.empty()) next_use(*uses_);  // throws
    current_.emplace(run_, *file_, std::move(ahead_.front().keys), std::move(ahead_.front().views));
    num_limbs_ -= ahead_.front().num_limbs;
    ahead_.pop_front();
    return *current_;
  }

 private:
  struct Ahead {
    std::vector<std::size_t> keys;
    std::vector<const KeyView*> views;
    std::size_t num_limbs;
  };

  void announce() {
    while (num_limbs_ < kAheadLimbs) {
      const std::optional<KeyUse> use = uses_->next();
      if (!use) return;
      Ahead& ahead = ahead_.emplace_back();
      for (const KeySpec& spec : use->keys) ahead.keys.push_back(find_key(*file_, spec, context_->degree()));
      ahead.views = run_.store->views(ahead.keys, use->level);
      ahead.num_limbs = 1;
      for (const std::vector<std::size_t>& pass : use->passes) {
        if (pass.empty()) continue;
        std::vector<const KeyView*> views;
        for (const std::size_t k : pass) views.push_back(ahead.views[k]);
        ahead.num_limbs += views.size() * views[0]->parts.size();
        run_.store->announce(views, run_.windows);
      }
      num_limbs_ += ahead.num_limbs;
    }
  }

  std::shared_ptr<const Context> context_;
  std::shared_ptr<const EvaluationKeyFile> file_;
  std::unique_ptr<KeyUses> uses_;
  Announced run_;
  std::deque<Ahead> ahead_;
  std::size_t num_limbs_ = 0;  // of these
  std::optional<MappedUse> current_;
};

}  // namespace

MappedKeys::MappedKeys(std::shared_ptr<const Context> context, const std::string& path, KeyReading reading,
                       KeyReadObserver on_read, KeyWaitObserver on_wait)
    : context_(std::move(context)),
      path_(path),
      file_(std::make_shared<const EvaluationKeyFile>(Source{path, {}}, *context_)),
      reading_(reading),
      on_read_(std::move(on_read)),
      on_wait_(std::move(on_wait)) {}

MappedKeys::MappedKeys(const MappedKeys& of, std::shared_ptr<const Context> context)
    : MappedKeys(std::move(context), of.path_, of.reading_, of.on_read_, of.on_wait_) {}

MappedKeys::~MappedKeys() {
  const std::shared_ptr<KeyStore>* store = store_.load();
  // What the parent of a fork had is left alone: destroying its locks could wait for threads that are not here.
  if (store == nullptr || !(*store)->is_ours()) return;
  (*store)->close();
  delete store;
}

const std::shared_ptr<KeyStore>& MappedKeys::store() const {
  std::shared_ptr<KeyStore>* current = store_.load(std::memory_order_acquire);
  if (current != nullptr && (*current)->is_ours()) return *current;
  // After a fork the parent's is left alone: another thread may have held its lock, and will never let go of it.
  auto fresh = std::make_unique<std::shared_ptr<KeyStore>>(
      std::make_shared<KeyStore>(context_, file_, reading_, on_read_, on_wait_));
  if (store_.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *current;
}

std::size_t MappedKeys::least_bytes(const KeyUse& use) const {
  std::size_t most = 0;
  for (const std::vector<std::size_t>& pass : use.passes) {
    std::size_t limbs = 0;
    for (const std::size_t k : pass) {
      const std::size_t key = find_key(*file_, use.keys[k], context_->degree());
      limbs += file_->shape_at(key, use.level).digits.size();
    }
    most = std::max(most, limbs);
  }
  return most * KeyStore::limb_bytes(*context_) + KeyStore::buffer_bytes(*file_, reading_);
}

std::unique_ptr<KeyRun> MappedKeys::start(std::unique_ptr<KeyUses> uses, Tick tick) {
  return std::make_unique<MappedRun>(store(), context_, file_, std::move(uses), std::move(tick));
}

KeyTraffic MappedKeys::traffic() const { return store()->traffic(); }

}  // namespace lw
