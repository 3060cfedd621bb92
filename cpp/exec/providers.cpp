#include "exec/providers.hpp"

#include "math/error.hpp"

namespace lw {

namespace {

/// Finds the keys of each use when it comes.
class ResidentRun final : public KeyRun {
 public:
  ResidentRun(std::shared_ptr<const EvaluationKeys> keys, std::shared_ptr<const Parameters> parameters,
              std::unique_ptr<KeyUses> uses)
      : keys_(std::move(keys)), parameters_(std::move(parameters)), uses_(std::move(uses)) {}

  const SwitchKeys& next() override {
    const KeyUse use = next_use(*uses_);
    std::vector<std::shared_ptr<const EvaluationKey>> found;
    for (const KeySpec& spec : use.keys) {
      found.push_back(keys_->find(spec, *parameters_));
      if (found.back() != nullptr) continue;
      throw Error(ErrorKind::kMissingKey, "the key set does not hold the " +
                                              describe(spec, parameters_->ring_degree()) + " for " +
                                              to_string(spec.level));
    }
    held_.emplace(std::move(found));
    return *held_;
  }

 private:
  std::shared_ptr<const EvaluationKeys> keys_;
  std::shared_ptr<const Parameters> parameters_;
  std::unique_ptr<KeyUses> uses_;
  std::optional<HeldKeys> held_;
};

}  // namespace

KeyUse next_use(KeyUses& uses) {
  if (std::optional<KeyUse> use = uses.next()) return *std::move(use);
  throw Error(ErrorKind::kValue, "a run uses more keys than were foretold");
}

std::unique_ptr<KeyRun> ResidentKeys::start(std::unique_ptr<KeyUses> uses, Tick) {
  return std::make_unique<ResidentRun>(keys_, parameters_, std::move(uses));
}

}  // namespace lw
