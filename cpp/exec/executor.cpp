#include "exec/executor.hpp"

#include "exec/key_uses.hpp"
#include "exec/recorded_runs.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

/// A ciphertext against the type of the argument it is for.
void check_cipher(const Ciphertext& x, const ValueType& type, const std::string& name) {
  if (x.level != type.level) {
    throw Error(ErrorKind::kLevel, name + " is at " + to_string(x.level) + "; the plan takes " + to_string(type.level));
  }
  if (!scales_match(x.scale, type.scale)) {
    throw Error(ErrorKind::kScale,
                name + " has scale " + std::to_string(x.scale) + "; the plan takes " + std::to_string(type.scale));
  }
  if (x.slots != type.slots || x.degree() != type.degree || x.basis != type.basis) {
    throw Error(ErrorKind::kShape, name + " has " + std::to_string(x.slots) + " slots and degree " +
                                       std::to_string(x.degree()) + (x.basis == Basis::kQ ? "" : " over QP") +
                                       "; the plan takes " + to_string(type));
  }
}

}  // namespace

Executor::Executor(std::shared_ptr<const Context> context, std::shared_ptr<const Plan> plan,
                   std::shared_ptr<KeyProvider> keys, std::shared_ptr<PlaintextProvider> plaintexts,
                   RecordingLimits recordings)
    : context_(std::move(context)),
      plan_(std::move(plan)),
      keys_(std::move(keys)),
      plaintexts_(std::move(plaintexts)),
      memory_(context_, plaintexts_),
      recorded_(std::make_shared<RecordedRuns>(context_, recordings.bytes, recordings.count)) {
  check_parameters(plan_->parameters().fingerprint(), context_->parameters(), "Executor: the plan");
  check_parameters(keys_->parameters(), context_->parameters(), "Executor: the key set");
  check_keys();
  key_need_ = find_key_need();
  context_->ring().device().add_spare(recorded_);
}

void Executor::check_keys() const {
  std::string missing;
  for (const KeySpec& spec : plan_->keys()) {
    if (keys_->has(spec)) continue;
    missing += (missing.empty() ? "" : ", ") + describe(spec, context_->degree()) + " at " + to_string(spec.level);
  }
  if (missing.empty()) return;
  throw Error(ErrorKind::kMissingKey, "the plan needs keys that the key set does not hold: " + missing +
                                          "; their owner makes them with client.public_keys(beside=keys) "
                                          "(`latticework keygen --add`), and the server adds them with "
                                          "keys.merged(more) (`latticework addkeys`)");
}

/// Every use by itself must fit: others wait for it.
KeyNeed Executor::find_key_need() const {
  KeyNeed need;
  if (keys_->budget_bytes() == SIZE_MAX) return need;
  for (std::uint32_t b = 0; b < plan_->blocks().size(); ++b) {
    const std::vector<Instruction>& code = plan_->blocks()[b].code;
    for (std::uint32_t i = 0; i < code.size(); ++i) {
      const std::optional<KeyUse> use = use_of(*context_, *plan_, *plaintexts_, code[i]);
      const std::size_t bytes = use ? keys_->least_bytes(*use) : 0;
      if (bytes > need.bytes) need = {bytes, b, i};
    }
  }
  return need;
}

void Executor::check_budget() const {
  if (key_need_.bytes <= keys_->budget_bytes()) return;
  const Instruction& instruction = plan_->blocks()[key_need_.block].code[key_need_.instruction];
  throw Error(ErrorKind::kRange, "run: keys may take " + std::to_string(keys_->budget_bytes()) +
                                     " bytes of memory; the least with which the plan runs is " +
                                     std::to_string(key_need_.bytes) + ", for block " +
                                     std::to_string(key_need_.block) + ", instruction " +
                                     std::to_string(key_need_.instruction) + " (" + info(instruction.op).name + ")");
}

void Executor::check_inputs(const std::vector<Input>& inputs, const std::string& who) const {
  const std::vector<std::uint32_t>& args = plan_->body().args;
  if (inputs.size() != args.size()) {
    throw Error(ErrorKind::kShape, who + ": " + std::to_string(inputs.size()) + " inputs given, the plan takes " +
                                       std::to_string(args.size()));
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string name = who + ": input " + std::to_string(i);
    const ValueType& type = plan_->type(args[i]);
    const Ciphertexts* array = std::get_if<Ciphertexts>(&inputs[i]);
    if ((array != nullptr) != (type.kind == TypeKind::kCipher)) {
      throw Error(ErrorKind::kShape, name + " must be " + (array == nullptr ? "a ciphertext" : "an integer"));
    }
    if (array == nullptr) continue;
    if (array->size() != type.count) {
      throw Error(ErrorKind::kShape, name + " has " + std::to_string(array->size()) + " ciphertexts; the plan takes " +
                                         std::to_string(type.count));
    }
    for (const Ciphertext& x : *array) {
      check_context(x.parameters, *x.residues, *context_, name);
      check_key_set(x.key_set, keys_->id(), name);
      check_cipher(x, type, name);
      if (x.encoding != Encoding::kSlots) {
        throw Error(ErrorKind::kShape, name + " holds coefficients; the plan takes slots");
      }
    }
  }
  for (const TripLimit& limit : plan_->trip_limits()) {
    const std::int64_t trip = std::get<std::int64_t>(inputs[limit.input]);
    if (trip >= 0 && trip <= limit.max_trip) continue;
    throw Error(ErrorKind::kRange, who + ": input " + std::to_string(limit.input) + " is a trip count of " +
                                       std::to_string(trip) + ", not between 0 and " + std::to_string(limit.max_trip));
  }
}

void Executor::check_watch(const Observers& observers) const {
  for (const std::uint32_t reg : observers.watch) {
    if (reg < plan_->num_registers() && plan_->type(reg).kind == TypeKind::kCipher) continue;
    throw Error(ErrorKind::kValue, "run: register " + std::to_string(reg) + " holds no ciphertext to watch");
  }
}

/// A state comes from a file, so it is held to everything that the interpreter relies on.
void Executor::check_state(const RunState& state) const {
  const std::optional<StateOutline> outline = outline_of(*plan_, state);
  if (!outline) {
    const std::string place = "instruction " + std::to_string(state.place);
    throw Error(ErrorKind::kFormat, state.iterations == 0
                                        ? "run: the state is before " + place + ", where no run of this plan goes on"
                                        : "run: the state is between iterations of " + place +
                                              ", which is no loop of this plan to go on in");
  }
  const std::int64_t max_trip = state.iterations == 0 ? 0 : plan_->body().code[state.place].imm[1];
  if (state.iterations < 0 || state.iterations > state.of || state.of > max_trip) {
    throw Error(ErrorKind::kFormat, "run: the state is after iteration " + std::to_string(state.iterations) + " of " +
                                        std::to_string(state.of) + "; the loop has at most " +
                                        std::to_string(max_trip));
  }
  std::size_t found = 0;
  for (const std::vector<std::uint32_t>* registers : {&outline->carried, &outline->kept}) {
    for (const std::uint32_t reg : *registers) {
      const std::string name = "run: register " + std::to_string(reg) + " of the state";
      const auto held = state.registers.find(reg);
      const ValueType& type = plan_->type(reg);
      if (held == state.registers.end() || held->second.size() != type.count) {
        throw Error(ErrorKind::kFormat,
                    name + " does not hold the " + std::to_string(type.count) + " ciphertexts of " + to_string(type));
      }
      ++found;
      for (const Ciphertext& x : held->second) {
        check_context(x.parameters, *x.residues, *context_, name);
        check_key_set(x.key_set, keys_->id(), name);
        check_cipher(x, type, name);
      }
    }
  }
  if (found != state.registers.size())
    throw Error(ErrorKind::kFormat, "run: the state has registers that are not live");
}

}  // namespace lw
