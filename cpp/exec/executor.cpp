#include "exec/executor.hpp"

#include <algorithm>

#include "exec/interpreter.hpp"
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

std::size_t num_bytes(const Ciphertexts& array) {
  std::size_t total = 0;
  for (const Ciphertext& value : array) total += value.num_bytes();
  return total;
}

/// The keys that a block and the blocks that it runs acquire, in the order of their first use.
class KeyOrder {
 public:
  KeyOrder(const Plan& plan, std::size_t block) : plan_(plan), is_visited_(plan.blocks().size()) { visit(block); }

  std::vector<std::uint32_t> found() && { return std::move(found_); }

 private:
  void visit(std::size_t block) {
    if (is_visited_[block]) return;  // called before: nothing in it is new
    is_visited_[block] = true;
    for (const Instruction& instruction : plan_.blocks()[block].code) {
      if (instruction.op == Opcode::kKey) {
        const std::uint32_t key = plan_.type(instruction.out[0]).key;
        if (std::find(found_.begin(), found_.end(), key) == found_.end()) found_.push_back(key);
      }
      for (std::size_t i = 0; i < num_blocks(instruction.op); ++i) {
        visit(static_cast<std::size_t>(instruction.imm[i]));
      }
    }
  }

  const Plan& plan_;
  std::vector<bool> is_visited_;
  std::vector<std::uint32_t> found_;
};

/// The key order of the body and of each block that is called, by number; of the others there is none.
KeyOrders key_orders(const Plan& plan) {
  KeyOrders orders(plan.blocks().size());
  orders[0] = KeyOrder(plan, 0).found();
  for (const Block& block : plan.blocks()) {
    for (const Instruction& instruction : block.code) {
      if (instruction.op != Opcode::kCall) continue;
      const std::size_t called = static_cast<std::size_t>(instruction.imm[0]);
      if (orders[called].empty()) orders[called] = KeyOrder(plan, called).found();
    }
  }
  return orders;
}

}  // namespace

Executor::Executor(std::shared_ptr<const Context> context, std::shared_ptr<const Plan> plan,
                   std::shared_ptr<KeyProvider> keys, std::shared_ptr<PlaintextProvider> plaintexts)
    : context_(std::move(context)),
      plan_(std::move(plan)),
      keys_(std::move(keys)),
      plaintexts_(std::move(plaintexts)),
      memory_(context_, plaintexts_) {
  check_parameters(plan_->parameters().fingerprint(), context_->parameters(), "Executor: the plan");
  check_parameters(keys_->parameters(), context_->parameters(), "Executor: the key set");
  check_keys();
  key_orders_ = key_orders(*plan_);
}

void Executor::check_keys() const {
  std::string missing;
  for (const KeySpec& spec : plan_->keys()) {
    if (keys_->has(spec)) continue;
    missing += (missing.empty() ? "" : ", ") + describe(spec, context_->degree()) + " at " + to_string(spec.level);
  }
  if (missing.empty()) return;
  throw Error(ErrorKind::kMissingKey, "the plan needs keys that the key set does not hold: " + missing +
                                          "; generate the keys of this plan's manifest");
}

void Executor::check_inputs(const std::vector<Input>& inputs, const Observers& observers) const {
  const std::vector<std::uint32_t>& args = plan_->body().args;
  if (inputs.size() != args.size()) {
    throw Error(ErrorKind::kShape, "run: " + std::to_string(inputs.size()) + " inputs given, the plan takes " +
                                       std::to_string(args.size()));
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string name = "run: input " + std::to_string(i);
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
      check_context(x.parameters, *x.rows, *context_, name);
      check_key_set(x.key_set, keys_->id(), name);
      check_cipher(x, type, name);
    }
  }
  for (const TripLimit& limit : plan_->trip_limits()) {
    const std::int64_t trip = std::get<std::int64_t>(inputs[limit.input]);
    if (trip >= 0 && trip <= limit.max_trip) continue;
    throw Error(ErrorKind::kRange, "run: input " + std::to_string(limit.input) + " is a trip count of " +
                                       std::to_string(trip) + ", not between 0 and " + std::to_string(limit.max_trip));
  }
  for (const std::uint32_t reg : observers.watch) {
    if (reg < plan_->num_registers() && plan_->type(reg).kind == TypeKind::kCipher) continue;
    throw Error(ErrorKind::kValue, "run: register " + std::to_string(reg) + " holds no ciphertext to watch");
  }
}

std::vector<Ciphertexts> Executor::run(std::vector<Input> inputs, const Observers& observers) const {
  check_inputs(inputs, observers);
  WorkingMemory::Run run(memory_);
  for (const Input& input : inputs) {
    if (const Ciphertexts* array = std::get_if<Ciphertexts>(&input)) run.carries(num_bytes(*array));
  }
  std::vector<Ciphertexts> outputs =
      Interpreter(*context_, *plan_, *keys_, *plaintexts_, observers, key_orders_).run(std::move(inputs));
  for (const Ciphertexts& array : outputs) run.carries(num_bytes(array));
  return outputs;
}

}  // namespace lw
