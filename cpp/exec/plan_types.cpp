#include <algorithm>
#include <array>

#include "exec/plan_check.hpp"
#include "rlwe/evaluator.hpp"

namespace lw {
namespace {

/// The rules of one instruction: what its operands must be, and the type its result then has. `stated` is taken over
/// where a rule leaves the type free.
class TypeRule {
 public:
  using Rule = ValueType (TypeRule::*)(const ValueType& stated) const;

  TypeRule(const Plan& plan, const Instruction& instruction, const Site& site)
      : plan_(plan), instruction_(instruction), site_(site) {}

  /// Operands lie under the main secret, or all under the sparse one.
  void check_secrets(bool wants_sparse) const {
    for (std::size_t i = 0; i < instruction_.in.size(); ++i) {
      if (in(i).kind != TypeKind::kCipher || (in(i).secret == SecretKind::kSparse) == wants_sparse) continue;
      site_.fail(std::string("takes no operand under the ") + (wants_sparse ? "main" : "sparse") + " secret");
    }
  }

  /// BFV keeps scale 1 and has a form of its own for plaintexts that are added.
  void check_scheme(bool adds, const ValueType& stated) const {
    const bool is_bfv = plan_.parameters().is_bfv();
    for (std::size_t i = 0; i < instruction_.in.size(); ++i) {
      require(in(i).kind != TypeKind::kPlain || in(i).is_addend == (is_bfv && adds),
              "takes no plaintext of this form: " + to_string(in(i)));
    }
    require(!stated.is_addend || (is_bfv && stated.basis == Basis::kQ), "there is no such addend");
    const bool has_scale = stated.kind != TypeKind::kKey && stated.kind != TypeKind::kIndex;
    require(!is_bfv || !has_scale || stated.scale == 1, "the scale of BFV is 1: " + to_string(stated));
  }

  /// Immediates that number constants or keys number such as there are.
  void check_numbers() const {
    const OpcodeInfo& op = info(instruction_.op);
    for (std::size_t i = 0; i < instruction_.imm.size(); ++i) {
      const char kind = op.immediate_kind(i);
      if (kind != 'v' && kind != 'm' && kind != 'w' && kind != 'k') continue;
      const std::size_t count = kind == 'k' ? plan_.keys().size() : plan_.num_constants();
      const std::int64_t number = instruction_.imm[i];
      require(number >= 0 && static_cast<std::uint64_t>(number) < count,
              std::string("there is no ") + (kind == 'k' ? "key " : "constant ") + std::to_string(number));
    }
  }

  // -- one rule for each opcode, or several ------------------------------------------------

  ValueType as_stated(const ValueType& stated) const { return stated; }
  ValueType index_quotient(const ValueType& stated) const {
    require(instruction_.imm[0] >= 1, "cannot divide by " + std::to_string(instruction_.imm[0]));
    return stated;
  }

  ValueType key(const ValueType&) const {
    ValueType type;
    type.kind = TypeKind::kKey;
    type.key = static_cast<std::uint32_t>(instruction_.imm[0]);
    return type;
  }
  ValueType same(const ValueType&) const { return in(0); }
  ValueType sum_of_two(const ValueType&) const {
    require_scales(in(0).scale, in(1).scale);
    return joined(in(0).scale);
  }
  ValueType same_over_q(const ValueType&) const {
    require(in(0).basis == Basis::kQ, "the operand must be over Q");
    return in(0);
  }
  ValueType times_plain(const ValueType&) const { return joined(in(0).scale * in(1).scale); }
  ValueType times_integer(const ValueType& stated) const {
    ValueType type = in(0);
    type.scale = stated.scale;
    return type;
  }
  ValueType times_monomial(const ValueType&) const {
    require(instruction_.imm[0] >= 0 && instruction_.imm[0] < 2 * std::int64_t{plan_.parameters().ring_degree()},
            "exponent " + std::to_string(instruction_.imm[0]) + " is not below 2N");
    return in(0);
  }
  ValueType product(const ValueType&) const {
    const ValueType &a = in(0), &b = second();
    const std::uint32_t most = plan_.parameters().is_bfv() ? 2 : kMaxCiphertextDegree;
    require(a.degree + b.degree <= most && a.basis == Basis::kQ && b.basis == Basis::kQ,
            "factors must be over Q, of degrees that add up to at most " + std::to_string(most) + ": " + to_string(a) +
                " and " + to_string(b));
    require(a.level == b.level, "factors are at " + to_string(a.level) + " and " + to_string(b.level));
    require_slots(a, b);
    ValueType type = a;
    type.degree = a.degree + b.degree;
    type.scale = a.scale * b.scale;
    type.count = joint_count();
    return type;
  }
  ValueType relinearized_product(const ValueType& stated) const {
    require_key_at(2, KeyKind::kRelin, in(0).level);
    ValueType type = product(stated);
    type.degree = 1;
    return type;
  }
  ValueType sums_of_products(const ValueType& stated) const {
    require(instruction_.in.size() == 2 && in(0).kind == TypeKind::kCipher &&
                (in(1).kind == TypeKind::kCipher || in(1).kind == TypeKind::kPlain),
            "needs a cipher, and a cipher or a plaintext");
    return summed(in(1).kind == TypeKind::kPlain ? times_plain(stated) : product(stated));
  }
  ValueType sums_of_neighbours(const ValueType&) const { return summed(in(0)); }

  ValueType hoisted(const ValueType& stated) const {
    ValueType type = same_over_q(stated);
    type.kind = TypeKind::kDigits;
    return type;
  }
  ValueType over_qp(const ValueType&) const {
    const bool is_galois = plan_.keys()[in(1).key].kind == KeyKind::kGalois;
    require_key(is_galois ? KeyKind::kGalois : KeyKind::kRelin, is_galois ? 1 : 2, in(0).level);
    ValueType type = in(0);
    type.kind = TypeKind::kCipher;
    type.basis = Basis::kQP;
    type.degree = 1;
    return type;
  }
  ValueType rotated(const ValueType& stated) const { return switched(KeyKind::kGalois, 1, stated.level); }
  ValueType rotated_over_p(const ValueType&) const {
    require_key(KeyKind::kGalois, 1, in(0).level);
    require(in(0).basis == Basis::kQP, "the operand must be over QP");
    return in(0);
  }
  ValueType relinearized(const ValueType& stated) const { return switched(KeyKind::kRelin, 2, stated.level); }
  ValueType divided(const ValueType& stated) const {
    require_downward(stated.level, in(0).basis == Basis::kQ);
    ValueType type = in(0);
    type.scale = divided_scale(plan_.parameters(), type.scale, plan_.parameters().dropped(type.level, stated.level));
    type.basis = Basis::kQ;
    type.level = stated.level;
    return type;
  }

  ValueType extended(const ValueType& stated) const {
    ValueType type = same_over_q(stated);
    type.basis = Basis::kQP;
    return type;
  }
  ValueType dropped(const ValueType& stated) const {
    require_downward(stated.level, true);
    ValueType type = in(0);
    const Parameters& parameters = plan_.parameters();
    require(type.basis == Basis::kQ || parameters.serves(type.level, stated.level),
            to_string(stated.level) + " has other special primes than " + to_string(type.level));
    type.level = stated.level;
    return type;
  }
  ValueType relabelled(const ValueType& stated) const {
    ValueType type = in(0);
    require(plan_.parameters().basis(type.level) == plan_.parameters().basis(stated.level),
            to_string(stated.level) + " has other limbs than " + to_string(type.level));
    type.level = stated.level;
    type.scale = stated.scale;
    type.slots = stated.slots;
    return type;
  }
  ValueType trivial(const ValueType&) const {
    ValueType type = in(0);
    type.kind = TypeKind::kCipher;
    type.degree = 1;
    type.is_addend = false;
    return type;
  }
  ValueType taken(const ValueType&) const {
    const std::int64_t count = in(0).count;
    for (const std::int64_t number : instruction_.imm) {
      require(number >= 0 && number < count,
              "there is no ciphertext " + std::to_string(number) + " of " + std::to_string(count));
    }
    ValueType type = in(0);
    type.count = static_cast<std::uint32_t>(std::min<std::size_t>(instruction_.imm.size(), UINT32_MAX));
    return type;
  }
  ValueType part_taken(const ValueType& stated) const {
    ValueType type = in(0);
    require(stated.count >= 1 && type.count % stated.count == 0,
            std::to_string(type.count) + " ciphertexts do not make parts of " + std::to_string(stated.count));
    type.count = stated.count;
    return type;
  }
  ValueType part_put(const ValueType&) const {
    const ValueType& array = in(0);
    ValueType part = in(1);
    require(array.count % part.count == 0,
            std::to_string(array.count) + " ciphertexts do not make parts of " + std::to_string(part.count));
    const bool is_alike = scales_match(part.scale, array.scale);
    part.scale = array.scale;
    part.count = array.count;
    require(is_alike && part == array,
            "operands are of different types: " + to_string(array) + " and " + to_string(in(1)));
    return array;
  }
  ValueType encoded_at(const ValueType& stated) const {
    require(!instruction_.imm.empty(), "needs constants");
    return stated;
  }
  ValueType joined_array(const ValueType&) const {
    require(!instruction_.in.empty(), "needs arrays");
    ValueType type = in(0);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < instruction_.in.size(); ++i) {
      ValueType alike = in(i);
      count += alike.count;
      const bool is_alike = scales_match(alike.scale, type.scale);
      alike.scale = type.scale;
      alike.count = type.count;
      require(is_alike && alike.kind == TypeKind::kCipher && alike == type,
              "operands are of different types: " + to_string(type) + " and " + to_string(in(i)));
    }
    type.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
    return type;
  }

  ValueType under_sparse(const ValueType&) const {
    require_key(KeyKind::kToSparse, 1, Level{});
    ValueType type = in(0);
    require(type.basis == Basis::kQ && type.level == Level{},
            "only a value over Q at level 0 of track 0 may be under the sparse secret, not " + to_string(type));
    type.secret = SecretKind::kSparse;
    return type;
  }
  ValueType raised(const ValueType& stated) const {
    require_key(KeyKind::kToDense, 1, stated.level);
    ValueType type = in(0);
    require(type.basis == Basis::kQ && type.level == Level{}, "needs a value at level 0, got " + to_string(type));
    require(instruction_.imm[0] >= 1, "factor " + std::to_string(instruction_.imm[0]) + " is not positive");
    type.level = stated.level;
    type.scale *= static_cast<double>(instruction_.imm[0]);
    type.slots = plan_.parameters().ring_degree() / 2;
    type.basis = Basis::kQP;
    type.secret = SecretKind::kMain;
    return type;
  }

  /// The type of every result of diag_sums, its operands and immediates checked.
  ValueType diagonal_sums(const ValueType&) const {
    const std::vector<std::int64_t>& imm = instruction_.imm;
    require(!instruction_.in.empty(), "needs digits");
    require(imm.size() >= 4 && imm.size() % 2 == 0, "needs the numbers of keys and sums, and a baby and giant a term");
    const std::size_t num_terms = imm.size() / 2 - 1, num_keys = instruction_.in.size() - 1 - num_terms;
    require(instruction_.in.size() > num_terms && imm[0] == static_cast<std::int64_t>(num_keys) && imm[1] >= 1 &&
                instruction_.out.size() == static_cast<std::size_t>(imm[1]),
            "operands and results do not fit " + std::to_string(imm[0]) + " keys, " + std::to_string(imm[1]) +
                " sums and " + std::to_string(num_terms) + " terms");
    ValueType type = in(0);
    require(type.kind == TypeKind::kDigits && type.degree == 1, "needs digits of degree 1, got " + to_string(type));
    for (std::size_t k = 1; k <= num_keys; ++k) {
      require(in(k).kind == TypeKind::kKey, "operand " + std::to_string(k) + " is not a key: " + to_string(in(k)));
      require_key_at(k, KeyKind::kGalois, type.level);
    }
    for (std::size_t t = 0; t < num_terms; ++t) {
      const std::int64_t baby = imm[2 + 2 * t], giant = imm[3 + 2 * t];
      require(baby >= 0 && baby <= imm[0] && giant >= 0 && giant < imm[1],
              "there is no term of baby " + std::to_string(baby) + " and giant " + std::to_string(giant));
      const ValueType &plain = in(1 + num_keys + t), &first = in(1 + num_keys);
      require(plain.kind == TypeKind::kPlain && plain.level == type.level && plain.basis == Basis::kQP &&
                  scales_match(plain.scale, first.scale),
              "term " + std::to_string(t) + " is not a plaintext at the place of the digits: " + to_string(plain));
      require(plain.count == 1 || plain.count == type.count,
              "term " + std::to_string(t) + " is an array of another size: " + to_string(plain));
      require_slots(type, plain);
    }
    type.kind = TypeKind::kCipher;
    type.basis = Basis::kQP;
    type.scale = in(0).scale * in(1 + num_keys).scale;
    return type;
  }

  /// The inner sums of a block map: how many there are, and the scale of its diagonals, are stated by the result.
  ValueType map_sums(const ValueType& stated) const {
    require(!instruction_.in.empty() && in(0).kind == TypeKind::kCipher, "needs an array of ciphers");
    ValueType type = in(0);
    require(type.degree == 1 && type.basis == Basis::kQ, "needs degree 1 over Q, got " + to_string(type));
    for (std::size_t k = 1; k < instruction_.in.size(); ++k) {
      require(in(k).kind == TypeKind::kKey, "operand " + std::to_string(k) + " is not a key: " + to_string(in(k)));
      require_key_at(k, KeyKind::kGalois, type.level);
    }
    if (instruction_.in.size() > 1) type.basis = Basis::kQP;
    type.count = stated.count;
    type.scale = stated.scale;
    return type;
  }

  /// Sums of ciphertexts times numbers: how many there are, and the scale of the numbers, are stated by the result.
  ValueType multiplied_by_matrix(const ValueType& stated) const {
    ValueType type = in(0);
    require(type.basis == Basis::kQ, "needs ciphers over Q, got " + to_string(type));
    type.count = stated.count;
    type.scale = stated.scale;
    return type;
  }

 private:
  const ValueType& in(std::size_t i) const noexcept { return plan_.type(instruction_.in[i].reg); }

  void require(bool holds, const std::string& what) const {
    if (!holds) site_.fail(what);
  }
  void require_scales(double a, double b) const {
    require(scales_match(b, a), "operands have different scales: " + to_string(in(0)) + " and " + to_string(in(1)));
  }
  void require_key(KeyKind kind, std::uint32_t degree, Level level) const {
    require_key_at(1, kind, level);
    require(in(0).degree == degree, "needs an operand of degree " + std::to_string(degree));
  }
  void require_key_at(std::size_t operand, KeyKind kind, Level level) const {
    const KeySpec& spec = plan_.keys()[in(operand).key];
    require(spec.kind == kind, std::string("needs a ") + kind_name(kind) + " key");
    require(plan_.parameters().serves(spec.level, level),
            "the key reaches " + to_string(spec.level) + ", it is needed at " + to_string(level));
  }

  /// Two operands at one place, of one width: the larger degree.
  ValueType joined(double scale) const {
    const ValueType &a = in(0), &b = in(1);
    require(a.level == b.level && a.basis == b.basis,
            "operands are at different places: " + to_string(a) + " and " + to_string(b));
    require_slots(a, b);
    ValueType type = a;
    type.degree = std::max(a.degree, b.degree);
    type.scale = scale;
    type.count = joint_count();
    return type;
  }
  /// One ciphertext meets each of an array.
  std::uint32_t joint_count() const {
    const ValueType &a = in(0), &b = second();
    require(a.count == b.count || a.count == 1 || b.count == 1,
            "operands are arrays of different sizes: " + to_string(a) + " and " + to_string(b));
    return std::max(a.count, b.count);
  }
  /// The second operand of an operation on two, or the only one.
  const ValueType& second() const noexcept { return in(instruction_.in.size() > 1 ? 1 : 0); }
  ValueType summed(ValueType type) const {
    const std::int64_t groups = instruction_.imm[0];
    require(groups >= 1 && type.count % groups == 0,
            std::to_string(type.count) + " ciphertexts do not make " + std::to_string(groups) + " groups");
    type.count = static_cast<std::uint32_t>(groups);
    return type;
  }

  /// The operand after a key switch that ends at a level not above it.
  ValueType switched(KeyKind kind, std::uint32_t degree, Level to) const {
    require_key(kind, degree, in(0).level);
    require(in(0).basis == Basis::kQ, "the operand must be over Q");
    require_downward(to, false);
    ValueType type = in(0);
    type.scale = divided_scale(plan_.parameters(), type.scale, plan_.parameters().dropped(type.level, to));
    type.level = to;
    type.degree = 1;
    return type;
  }
  /// Requires a level on the same track and not above the operand's; below it, if `strict`.
  void require_downward(Level to, bool strict) const {
    require(to.track == in(0).level.track && to.index + (strict ? 1 : 0) <= in(0).level.index,
            "there is no way down from " + to_string(in(0).level) + " to " + to_string(to));
  }
  void require_slots(const ValueType& a, const ValueType& b) const {
    require(a.slots == b.slots, "operands have different slots: " + to_string(a) + " and " + to_string(b));
  }

  const Plan& plan_;
  const Instruction& instruction_;
  const Site& site_;
};

struct RuleEntry {
  Opcode op;
  TypeRule::Rule rule;
};

constexpr RuleEntry kRuleEntries[] = {
    {Opcode::kIconst, &TypeRule::as_stated},
    {Opcode::kIadd, &TypeRule::as_stated},
    {Opcode::kIsub, &TypeRule::as_stated},
    {Opcode::kImul, &TypeRule::as_stated},
    {Opcode::kImin, &TypeRule::as_stated},
    {Opcode::kIlt, &TypeRule::as_stated},
    {Opcode::kIdiv, &TypeRule::index_quotient},
    {Opcode::kEncode, &TypeRule::as_stated},
    {Opcode::kKey, &TypeRule::key},
    {Opcode::kTrivial, &TypeRule::trivial},
    {Opcode::kAdd, &TypeRule::sum_of_two},
    {Opcode::kSub, &TypeRule::sum_of_two},
    {Opcode::kAddPlain, &TypeRule::sum_of_two},
    {Opcode::kSubPlain, &TypeRule::sum_of_two},
    {Opcode::kNeg, &TypeRule::same},
    {Opcode::kAddInt, &TypeRule::same_over_q},
    {Opcode::kSum, &TypeRule::sums_of_neighbours},
    {Opcode::kMul, &TypeRule::product},
    {Opcode::kSquare, &TypeRule::product},
    {Opcode::kMulPlain, &TypeRule::times_plain},
    {Opcode::kDot, &TypeRule::sums_of_products},
    {Opcode::kMulRelinearize, &TypeRule::relinearized_product},
    {Opcode::kMulInt, &TypeRule::times_integer},
    {Opcode::kMulMonomial, &TypeRule::times_monomial},
    {Opcode::kHoist, &TypeRule::hoisted},
    {Opcode::kKeyProduct, &TypeRule::over_qp},
    {Opcode::kModDown, &TypeRule::divided},
    {Opcode::kRotate, &TypeRule::rotated},
    {Opcode::kRotateOverP, &TypeRule::rotated_over_p},
    {Opcode::kRelinearize, &TypeRule::relinearized},
    {Opcode::kDiagSums, &TypeRule::diagonal_sums},
    {Opcode::kMapSums, &TypeRule::map_sums},
    {Opcode::kPublicMatmul, &TypeRule::multiplied_by_matrix},
    {Opcode::kDropLevel, &TypeRule::dropped},
    {Opcode::kRelabel, &TypeRule::relabelled},
    {Opcode::kExtend, &TypeRule::extended},
    {Opcode::kTake, &TypeRule::taken},
    {Opcode::kConcat, &TypeRule::joined_array},
    {Opcode::kTakeAt, &TypeRule::part_taken},
    {Opcode::kPutAt, &TypeRule::part_put},
    {Opcode::kEncodeAt, &TypeRule::encoded_at},
    {Opcode::kToSparse, &TypeRule::under_sparse},
    {Opcode::kModRaise, &TypeRule::raised},
};

constexpr auto kRules = [] {
  std::array<TypeRule::Rule, std::size(kOpcodes)> rules{};
  for (const RuleEntry& entry : kRuleEntries) rules[static_cast<std::size_t>(entry.op)] = entry.rule;
  return rules;
}();
constexpr bool is_of_blocks(Opcode op) { return info(op).num_blocks() > 0 || op == Opcode::kYield; }
static_assert(for_all_opcodes([](Opcode op) {
                return (kRules[static_cast<std::size_t>(op)] == nullptr) == is_of_blocks(op);
              }),
              "every opcode has a rule here, but those of blocks, which plan_structure.cpp checks");

}  // namespace

void check_types(const Plan& plan, const Instruction& instruction, const Site& site) {
  const TypeRule rule(plan, instruction, site);
  const OpcodeInfo& op = info(instruction.op);
  rule.check_secrets(op.takes('s'));
  if (instruction.out.empty()) site.fail("there is no result");
  const bool is_bfv = plan.parameters().is_bfv();
  if (is_bfv && op.schemes == Schemes::kCkks) site.fail("BFV has no such operation");
  if (!is_bfv && op.schemes == Schemes::kBfv) site.fail("only BFV has this operation");
  rule.check_numbers();
  for (const std::uint32_t reg : instruction.out) {
    const ValueType& stated = plan.type(reg);
    rule.check_scheme(op.takes('a'), stated);
    ValueType expected = (rule.*kRules[static_cast<std::size_t>(instruction.op)])(stated);
    const bool scales_agree = expected.scale == stated.scale || scales_match(stated.scale, expected.scale);
    if (!scales_agree) site.fail("the result is stated as " + to_string(stated) + ", it is " + to_string(expected));
    expected.scale = stated.scale;
    if (stated != expected) {
      site.fail("the result is stated as " + to_string(stated) + ", it is " + to_string(expected));
    }
  }
}

}  // namespace lw
