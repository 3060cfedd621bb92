#include <algorithm>
#include <map>

#include "exec/plan_check.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

constexpr std::uint32_t kMaxNesting = 64;
constexpr std::uint64_t kMaxFollowed = std::uint64_t{1} << 24;  // instructions, those of every call counted
constexpr std::int64_t kMaxTrip = std::int64_t{1} << 31;

/// Walks trees of blocks in the order of execution: that of the body, and then those of blocks that are called. A tree
/// sees no register of another one; calls lead to blocks of higher numbers only, so none leads back.
class StructureCheck {
 public:
  StructureCheck(const Plan& plan, std::vector<Block>& blocks, std::vector<TripLimit>& trip_limits)
      : plan_(plan),
        blocks_(blocks),
        trip_limits_(trip_limits),
        registers_(plan.num_registers()),
        is_visited_(blocks.size()),
        num_instructions_(blocks.size()) {}

  void run() {
    if (blocks_.empty()) throw Error(ErrorKind::kFormat, "plan: it has no block");
    const Site start{0, 0, "args"};
    for (const std::uint32_t arg : blocks_[0].args) {
      require_register(arg, start);
      const ValueType& type = plan_.type(arg);
      const bool is_input = type.kind == TypeKind::kIndex || is_output(type);
      if (!is_input) start.fail("an input is neither an index nor a cipher over Q: " + to_string(type));
    }
    check_block(0, start);
    while (!pending_.empty()) {
      const auto [block, from] = *pending_.begin();
      pending_.erase(pending_.begin());
      root_ = block;
      nesting_ = from.nesting;
      check_block(block, from.site);
    }
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      if (!is_visited_[b]) Site{b, 0, "block"}.fail("nothing refers to this block");
    }
    check_calls();
  }

 private:
  enum class State : std::uint8_t { kUndefined, kLive, kDead, kOutOfScope };
  struct Register {
    State state = State::kUndefined;
    std::uint32_t block = 0;       // that defines it
    std::uint32_t loop_depth = 0;  // of that block
    std::uint32_t last_touch = 0;  // instruction of that block after which nothing reads it
  };

  /// The first call of a block: its site, and the largest nesting depth of its caller, in blocks.
  struct Entry {
    Site site;
    std::uint32_t nesting;
  };
  struct Call {
    Site site;
    std::uint32_t from, to;  // the block at the root of the tree that it stands in, and the one called
    const Instruction* instruction;
  };

  static bool is_output(const ValueType& type) {
    return type.kind == TypeKind::kCipher && type.basis == Basis::kQ && type.secret == SecretKind::kMain;
  }

  void require_register(std::uint32_t reg, const Site& site) const {
    if (reg >= registers_.size()) site.fail("there is no register " + std::to_string(reg));
  }

  void define(std::uint32_t reg, std::uint32_t block, const Site& site) {
    require_register(reg, site);
    Register& r = registers_[reg];
    if (r.state != State::kUndefined) site.fail("register " + std::to_string(reg) + " is written in two places");
    r = {State::kLive, block, loop_depth_, position_[block]};
    defined_[block].push_back(reg);
  }

  void read(const Operand& operand, const Site& site) {
    require_register(operand.reg, site);
    Register& r = registers_[operand.reg];
    const std::string name = "register " + std::to_string(operand.reg);
    if (r.state == State::kUndefined) site.fail(name + " is read before it is written");
    if (r.state == State::kDead) site.fail(name + " is read after its last use");
    if (r.state == State::kOutOfScope) site.fail(name + " is read outside its block");
    if (operand.last_use && r.loop_depth != loop_depth_) {
      site.fail(name + " is marked as last used inside a loop, but belongs outside");
    }
    r.last_touch = position_[r.block];
  }

  void check_block(std::uint32_t b, const Site& from) {
    if (b >= blocks_.size()) from.fail("there is no block " + std::to_string(b));
    if (is_visited_[b]) from.fail("block " + std::to_string(b) + " is used twice");
    if (++nesting_ > kMaxNesting) from.fail("more than " + std::to_string(kMaxNesting) + " nested blocks");
    is_visited_[b] = true;
    Block& block = blocks_[b];
    num_instructions_[root_] += block.code.size();
    position_[b] = 0;
    for (const std::uint32_t arg : block.args) define(arg, b, from);
    if (block.code.empty() || block.code.back().op != Opcode::kYield) {
      Site{b, static_cast<std::uint32_t>(block.code.size()), "end"}.fail("a block must end in yield");
    }
    for (std::uint32_t i = 0; i < block.code.size(); ++i) {
      position_[b] = i;
      check_instruction(b, i);
    }
    for (const std::uint32_t reg : defined_[b]) {
      registers_[reg].state = State::kOutOfScope;
      block.code[registers_[reg].last_touch].release.push_back(reg);
    }
    --nesting_;
  }

  void check_instruction(std::uint32_t b, std::uint32_t i) {
    Instruction& instruction = blocks_[b].code[i];
    const OpcodeInfo& op = info(instruction.op);
    const Site site{b, i, op.name};
    check_kinds(instruction, op, site);
    for (const Operand& operand : instruction.in) read(operand, site);
    for (const Operand& operand : instruction.in) {
      if (operand.last_use) kill(operand.reg);
    }
    switch (instruction.op) {
      case Opcode::kFor:
        check_for(instruction, site);
        break;
      case Opcode::kIf:
        check_if(instruction, site);
        break;
      case Opcode::kCall:
        check_call(instruction, site);
        break;
      case Opcode::kYield:
        if (i + 1 != blocks_[b].code.size()) site.fail("yield is not the last instruction of its block");
        if (b == 0) check_outputs(instruction, site);
        break;
      default:
        check_types(plan_, instruction, site);
    }
    for (const std::uint32_t reg : instruction.out) define(reg, b, site);
  }

  void kill(std::uint32_t reg) {
    registers_[reg].state = State::kDead;
    killed_.push_back(reg);
  }

  /// Numbers and kinds of operands, results and immediates against the table.
  void check_kinds(const Instruction& instruction, const OpcodeInfo& op, const Site& site) const {
    std::vector<std::uint32_t> in;
    for (const Operand& operand : instruction.in) in.push_back(operand.reg);
    check_kinds(in, op.in, "operand", site);
    check_kinds(instruction.out, op.out, "result", site);
    if (!op.has_any_number() && instruction.imm.size() != op.imm.size()) {
      site.fail("expected " + std::to_string(op.imm.size()) + " immediates, got " +
                std::to_string(instruction.imm.size()));
    }
  }
  /// The kind of a register that a letter of the table asks for; its secret, or its form, is the rule's to check.
  static TypeKind kind_of(char letter) {
    return letter == 's' ? TypeKind::kCipher : letter == 'a' ? TypeKind::kPlain : static_cast<TypeKind>(letter);
  }
  void check_kinds(const std::vector<std::uint32_t>& regs, std::string_view kinds, const char* what,
                   const Site& site) const {
    for (const std::uint32_t reg : regs) require_register(reg, site);
    if (kinds == "*") return;
    if (regs.size() != kinds.size()) {
      site.fail("expected " + std::to_string(kinds.size()) + " of " + what + ", got " + std::to_string(regs.size()));
    }
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const ValueType& type = plan_.type(regs[k]);
      if (type.kind != kind_of(kinds[k])) {
        site.fail(std::string(what) + " " + std::to_string(k) + " is of the wrong kind: " + to_string(type));
      }
    }
  }

  void require_index_operand(const Instruction& instruction, const Site& site) const {
    if (instruction.in.empty() || plan_.type(instruction.in[0].reg).kind != TypeKind::kIndex) {
      site.fail("the first operand must be an index");
    }
  }

  /// Types that must be identical, one by one.
  void require_same_types(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b, const char* what,
                          const Site& site) const {
    if (a.size() != b.size()) {
      site.fail(std::string(what) + ": " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " values");
    }
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (plan_.type(a[k]) == plan_.type(b[k])) continue;
      site.fail(std::string(what) + " " + std::to_string(k) + ": " + to_string(plan_.type(a[k])) + " and " +
                to_string(plan_.type(b[k])) + " are not identical");
    }
  }

  static std::vector<std::uint32_t> registers_of(const std::vector<Operand>& operands, std::size_t from) {
    std::vector<std::uint32_t> regs;
    for (std::size_t k = from; k < operands.size(); ++k) regs.push_back(operands[k].reg);
    return regs;
  }

  Block& inner_block(std::int64_t number, const Site& site) {
    if (number <= 0 || static_cast<std::uint64_t>(number) >= blocks_.size()) {
      site.fail("there is no inner block " + std::to_string(number));
    }
    Block& block = blocks_[static_cast<std::size_t>(number)];
    for (const std::uint32_t arg : block.args) require_register(arg, site);
    return block;
  }

  /// The values a block yields; check_block has seen that it ends in yield.
  std::vector<std::uint32_t> yields(const Block& block) const { return registers_of(block.code.back().in, 0); }

  void check_for(const Instruction& instruction, const Site& site) {
    require_index_operand(instruction, site);
    const std::int64_t max_trip = instruction.imm[1];
    if (max_trip < 0 || max_trip > kMaxTrip) site.fail("max_trip " + std::to_string(max_trip) + " is out of range");
    const std::vector<std::uint32_t>& inputs = blocks_[0].args;
    const auto input = std::find(inputs.begin(), inputs.end(), instruction.in[0].reg);
    if (input != inputs.end()) {
      trip_limits_.push_back({static_cast<std::uint32_t>(input - inputs.begin()), max_trip});
    }
    const Block& body = inner_block(instruction.imm[0], site);
    if (body.args.empty() || plan_.type(body.args[0]).kind != TypeKind::kIndex) {
      site.fail("the first argument of a loop body must be an index");
    }
    const std::vector<std::uint32_t> init = registers_of(instruction.in, 1),
                                     carried(body.args.begin() + 1, body.args.end());
    require_same_types(init, carried, "initial and carried value", site);
    require_same_types(carried, instruction.out, "carried value and result", site);
    ++loop_depth_;
    check_block(static_cast<std::uint32_t>(instruction.imm[0]), site);
    --loop_depth_;
    require_same_types(yields(body), carried, "yielded and carried value", site);
  }

  void check_if(const Instruction& instruction, const Site& site) {
    require_index_operand(instruction, site);
    const std::vector<std::uint32_t> operands = registers_of(instruction.in, 1);
    const std::size_t before = killed_.size();
    check_branch(instruction, operands, instruction.imm[0], site);
    // What the one branch used up, the other may still read.
    const std::vector<std::uint32_t> killed_by_then(killed_.begin() + static_cast<std::ptrdiff_t>(before),
                                                    killed_.end());
    for (const std::uint32_t reg : killed_by_then) {
      if (registers_[reg].state == State::kDead) registers_[reg].state = State::kLive;
    }
    check_branch(instruction, operands, instruction.imm[1], site);
    for (const std::uint32_t reg : killed_by_then) {
      if (registers_[reg].state == State::kLive) registers_[reg].state = State::kDead;
    }
  }

  void check_branch(const Instruction& instruction, const std::vector<std::uint32_t>& operands, std::int64_t number,
                    const Site& site) {
    const Block& block = inner_block(number, site);
    require_same_types(operands, block.args, "operand and argument", site);
    check_block(static_cast<std::uint32_t>(number), site);
    require_same_types(yields(block), instruction.out, "yielded value and result", site);
  }

  void check_call(const Instruction& instruction, const Site& site) {
    const Block& block = inner_block(instruction.imm[0], site);
    const std::uint32_t number = static_cast<std::uint32_t>(instruction.imm[0]);
    if (number <= root_) {
      site.fail("a call in block " + std::to_string(root_) + " leads back to block " + std::to_string(number) +
                "; blocks that are called have higher numbers");
    }
    require_same_types(registers_of(instruction.in, 0), block.args, "operand and argument", site);
    Entry& entry = pending_.try_emplace(number, Entry{site, 0}).first->second;
    entry.nesting = std::max(entry.nesting, nesting_);
    calls_.push_back({site, root_, number, &instruction});
  }

  /// Checks what is left of calls when all blocks are known to be right: results, and how much code they run.
  void check_calls() {
    for (const Call& call : calls_) {
      require_same_types(yields(blocks_[call.to]), call.instruction->out, "yielded value and result", call.site);
    }
    std::sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) { return a.from > b.from; });
    for (const Call& call : calls_) {  // what is called stands higher, so its own calls have been added up
      std::uint64_t& total = num_instructions_[call.from];
      total += num_instructions_[call.to];
      if (total > kMaxFollowed) {
        call.site.fail("with the blocks that it calls, block " + std::to_string(call.from) + " has more than " +
                       std::to_string(kMaxFollowed) + " instructions");
      }
    }
  }

  void check_outputs(const Instruction& instruction, const Site& site) const {
    for (const Operand& operand : instruction.in) {
      if (!is_output(plan_.type(operand.reg))) {
        site.fail("an output is not a cipher over Q: " + to_string(plan_.type(operand.reg)));
      }
    }
  }

  const Plan& plan_;
  std::vector<Block>& blocks_;
  std::vector<TripLimit>& trip_limits_;
  std::vector<Register> registers_;
  std::vector<bool> is_visited_;
  std::vector<std::uint32_t> position_ = std::vector<std::uint32_t>(blocks_.size());
  std::vector<std::vector<std::uint32_t>> defined_ = std::vector<std::vector<std::uint32_t>>(blocks_.size());
  std::vector<std::uint32_t> killed_;            // in order
  std::vector<std::uint64_t> num_instructions_;  // of the tree of each block that is the root of one
  std::map<std::uint32_t, Entry> pending_;       // called blocks that have not been looked at
  std::vector<Call> calls_;
  std::uint32_t root_ = 0, loop_depth_ = 0, nesting_ = 0;
};

}  // namespace

void Site::fail(const std::string& what) const {
  throw Error(ErrorKind::kFormat, "plan: block " + std::to_string(block) + ", instruction " +
                                      std::to_string(instruction) + " (" + op + "): " + what);
}

void check_structure(const Plan& plan, std::vector<Block>& blocks, std::vector<TripLimit>& trip_limits) {
  StructureCheck(plan, blocks, trip_limits).run();
}

}  // namespace lw
