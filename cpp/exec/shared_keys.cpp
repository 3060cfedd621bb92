#include "exec/shared_keys.hpp"

#include <optional>

#include "math/error.hpp"

namespace lw {
namespace {

/// The uses of the batch, for the one run that reads the keys.
class TheirUses final : public KeyUses {
 public:
  explicit TheirUses(NumberedUses& uses) : uses_(uses) {}
  std::optional<KeyUse> next() override {
    const KeyUse* use = uses_.at(number_++);
    return use == nullptr ? std::nullopt : std::optional(*use);
  }

 private:
  NumberedUses& uses_;
  std::size_t number_ = 0;
};

}  // namespace

const KeyUse* NumberedUses::at(std::size_t number) {
  while (number >= first_ + told_.size()) {
    std::optional<KeyUse> use = uses_->next();
    if (!use) return nullptr;
    told_.push_back(*std::move(use));
  }
  return &told_[number - first_];
}

void NumberedUses::forget_before(std::size_t number) {
  for (; first_ < number && !told_.empty(); ++first_) told_.pop_front();
}

/// A way through the limbs, and the window that members are at. Limbs go with the last of them that ends it.
class SharedKeys::Pass {
 public:
  Pass(SharedKeys& shared, std::size_t use, std::span<const std::size_t> which, std::span<const std::uint32_t> digits,
       const LimbList& limbs)
      : shared_(shared),
        use_(use),
        which_(which.begin(), which.end()),
        digits_(digits.begin(), digits.end()),
        limbs_(limbs) {}

  /// Goes on to the next window, for all members.
  void advance() {
    if (keys_ == nullptr) keys_ = shared_.reach(use_).read(which_, digits_, limbs_);
    window_ = keys_->next();
  }
  /// The window, for one of the members, on its queue.
  const KeyWindow& window() const {
    keys_->share();
    return window_;
  }

 private:
  SharedKeys& shared_;
  const std::size_t use_;
  const std::vector<std::size_t> which_;
  const std::vector<std::uint32_t> digits_;
  const LimbList limbs_;
  std::unique_ptr<KeyPass> keys_;
  KeyWindow window_;
};

class SharedKeys::MemberPass final : public KeyPass {
 public:
  MemberPass(Lockstep& lockstep, std::size_t member, std::shared_ptr<Pass> pass)
      : lockstep_(lockstep), member_(member), pass_(std::move(pass)) {}

  KeyWindow next() override {
    lockstep_.meet(member_, [this] { pass_->advance(); });
    return pass_->window();
  }

 private:
  Lockstep& lockstep_;
  const std::size_t member_;
  const std::shared_ptr<Pass> pass_;
};

class SharedKeys::MemberUse final : public SwitchKeys {
 public:
  MemberUse(SharedKeys& shared, std::size_t member, std::size_t number, const KeyUse& use)
      : shared_(shared), member_(member), number_(number), use_(use) {}

  std::size_t size() const noexcept override { return use_.keys.size(); }
  const KeySpec& spec(std::size_t k) const override { return use_.keys[k]; }
  const KeySetId& id() const override { return shared_.provider_.id(); }
  void check(const Context&, const std::string&) const override {}  // those of the run are, when it has come to them

  /// Who comes to a pass first begins it. None is a pass ahead of what another has begun: at windows they meet.
  std::unique_ptr<KeyPass> read(std::span<const std::size_t> which, std::span<const std::uint32_t> digits,
                                const LimbList& limbs) const override {
    if (which.empty()) return HeldKeys(std::vector<const EvaluationKey*>()).read(which, digits, limbs);
    const std::pair place(number_, num_passes_++);
    std::shared_ptr<Pass> pass = place == shared_.newest_place_ ? shared_.newest_.lock() : nullptr;
    if (pass == nullptr) {
      pass = std::make_shared<Pass>(shared_, number_, which, digits, limbs);
      shared_.newest_ = pass;
      shared_.newest_place_ = place;
    }
    return std::make_unique<MemberPass>(shared_.lockstep_, member_, std::move(pass));
  }

 private:
  SharedKeys& shared_;
  const std::size_t member_, number_;
  const KeyUse& use_;
  mutable std::size_t num_passes_ = 0;
};

class SharedKeys::MemberRun final : public KeyRun {
 public:
  MemberRun(SharedKeys& shared, std::size_t member) : shared_(shared), member_(member) {}

  const SwitchKeys& next() override {
    const std::size_t number = num_uses_++;
    const KeyUse* use = shared_.uses_.at(number);
    if (use == nullptr) throw Error(ErrorKind::kValue, "a run uses more keys than were foretold");
    return use_.emplace(shared_, member_, number, *use);
  }

 private:
  SharedKeys& shared_;
  const std::size_t member_;
  std::size_t num_uses_ = 0;
  std::optional<MemberUse> use_;
};

SharedKeys::SharedKeys(const Context& context, KeyProvider& provider, std::unique_ptr<KeyUses> uses, const Tick& tick,
                       Lockstep& lockstep)
    : context_(context),
      provider_(provider),
      lockstep_(lockstep),
      uses_(std::move(uses)),
      keys_(provider.start(std::make_unique<TheirUses>(uses_), tick)) {}

std::unique_ptr<KeyRun> SharedKeys::of(std::size_t member) { return std::make_unique<MemberRun>(*this, member); }

const SwitchKeys& SharedKeys::reach(std::size_t use) {
  if (num_reached_ <= use) {
    for (; num_reached_ <= use; ++num_reached_) current_ = &keys_->next();
    current_->check(context_, "run_many: the keys");
    uses_.forget_before(use);
  }
  return *current_;
}

}  // namespace lw
