#include <algorithm>

#include "exec/plan_check.hpp"
#include "rlwe/evaluator.hpp"

namespace lw {
namespace {

/// The rules of one instruction: what its operands must be, and the type its result then has.
class TypeRule {
 public:
  TypeRule(const Plan& plan, const Instruction& instruction, const Site& site)
      : plan_(plan), instruction_(instruction), site_(site) {}

  /// Only mod_raise takes a cipher under the sparse secret.
  void check_secrets() const {
    for (std::size_t i = 0; i < instruction_.in.size(); ++i) {
      const bool wants_sparse = instruction_.op == Opcode::kModRaise;
      if (in(i).kind != TypeKind::kCipher || (in(i).secret == SecretKind::kSparse) == wants_sparse) continue;
      site_.fail(std::string("takes no operand under the ") + (wants_sparse ? "main" : "sparse") + " secret");
    }
  }

  /// What only one scheme has: BFV keeps scale 1 and knows addends; CKKS drops limbs and reads values anew.
  void check_scheme(const ValueType& stated) const {
    const bool is_bfv = plan_.parameters().is_bfv();
    switch (instruction_.op) {
      case Opcode::kDropLevel:
      case Opcode::kRelabel:
      case Opcode::kToSparse:
      case Opcode::kModRaise:
      case Opcode::kMulMonomial:
        require(!is_bfv, "BFV has no such operation");
        break;
      case Opcode::kMulRelinearize:
        require(is_bfv, "only BFV has this operation");
        break;
      default:
        break;
    }
    const bool adds = instruction_.op == Opcode::kAddPlain || instruction_.op == Opcode::kSubPlain ||
                      instruction_.op == Opcode::kTrivial;
    for (std::size_t i = 0; i < instruction_.in.size(); ++i) {
      require(in(i).kind != TypeKind::kPlain || in(i).is_addend == (is_bfv && adds),
              "takes no plaintext of this form: " + to_string(in(i)));
    }
    require(!stated.is_addend || (is_bfv && stated.basis == Basis::kQ), "there is no such addend");
    const bool has_scale = stated.kind != TypeKind::kKey && stated.kind != TypeKind::kIndex;
    require(!is_bfv || !has_scale || stated.scale == 1, "the scale of BFV is 1: " + to_string(stated));
  }

  /// The type of every result of diag_sums, its operands and immediates checked.
  ValueType sum() const {
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
      type.slots = std::max(type.slots, plain.slots);
    }
    type.kind = TypeKind::kCipher;
    type.basis = Basis::kQP;
    type.scale = in(0).scale * in(1 + num_keys).scale;
    return type;
  }

  /// The inner sums of a block map: how many there are, and the scale of its diagonals, are stated by the result.
  ValueType map_sums(const ValueType& stated) const {
    require_index(plan_.num_constants(), "constant");
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

  /// The type of what moves or adds up whole ciphertexts.
  ValueType moved_array() const {
    switch (instruction_.op) {
      case Opcode::kTake:
        return taken();
      case Opcode::kConcat:
        return joined_array();
      case Opcode::kSum:
        return summed(in(0));
      default:
        require(instruction_.in.size() == 2 && in(0).kind == TypeKind::kCipher &&
                    (in(1).kind == TypeKind::kCipher || in(1).kind == TypeKind::kPlain),
                "needs a cipher, and a cipher or a plaintext");
        return summed(in(1).kind == TypeKind::kPlain ? joined(in(0).scale * in(1).scale) : product());
    }
  }

  /// The result's type by rule; `stated` is taken over where the rule leaves it free.
  ValueType result(const ValueType& stated) const {
    switch (instruction_.op) {
      case Opcode::kEncode:
        require_index(plan_.num_constants(), "constant");
        return stated;
      case Opcode::kKey:
        require_index(plan_.keys().size(), "key");
        return key_type();
      case Opcode::kAdd:
      case Opcode::kSub:
      case Opcode::kAddPlain:
      case Opcode::kSubPlain:
        require_scales(in(0).scale, in(1).scale);
        return joined(in(0).scale);
      case Opcode::kMulPlain:
        return joined(in(0).scale * in(1).scale);
      case Opcode::kTake:
      case Opcode::kConcat:
      case Opcode::kSum:
      case Opcode::kDot:
        return moved_array();
      case Opcode::kMapSums:
        return map_sums(stated);
      case Opcode::kMul:
      case Opcode::kSquare:
        return product();
      case Opcode::kMulRelinearize: {
        require_key_at(2, KeyKind::kRelin, in(0).level);
        ValueType type = product();
        type.degree = 1;
        return type;
      }
      case Opcode::kNeg:
        return in(0);
      case Opcode::kMulInt: {
        ValueType type = in(0);
        type.scale = stated.scale;
        return type;
      }
      case Opcode::kMulMonomial:
        require(instruction_.imm[0] >= 0 && instruction_.imm[0] < 2 * std::int64_t{plan_.parameters().ring_degree()},
                "exponent " + std::to_string(instruction_.imm[0]) + " is not below 2N");
        return in(0);
      case Opcode::kExtend: {
        ValueType type = in(0);
        require(type.basis == Basis::kQ, "the operand must be over Q");
        type.basis = Basis::kQP;
        return type;
      }
      case Opcode::kAddInt:
        require(in(0).basis == Basis::kQ, "the operand must be over Q");
        return in(0);
      default:
        return stated.kind == TypeKind::kIndex ? stated : key_switch_result(stated);  // an index is always free
    }
  }

 private:
  const ValueType& in(std::size_t i) const noexcept { return plan_.type(instruction_.in[i].reg); }

  void require(bool holds, const std::string& what) const {
    if (!holds) site_.fail(what);
  }
  void require_index(std::size_t count, const char* what) const {
    const std::int64_t index = instruction_.imm[0];
    require(index >= 0 && static_cast<std::uint64_t>(index) < count,
            std::string("there is no ") + what + " " + std::to_string(index));
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
    const LimbList held = plan_.parameters().basis(spec.level), wanted = plan_.parameters().basis(level);
    require(!find_runs(held, wanted).empty(),
            "the key reaches " + to_string(spec.level) + ", it is needed at " + to_string(level));
  }

  ValueType key_type() const {
    ValueType type;
    type.kind = TypeKind::kKey;
    type.key = static_cast<std::uint32_t>(instruction_.imm[0]);
    return type;
  }

  /// Two operands at one place: the larger degree and slot count.
  ValueType joined(double scale) const {
    const ValueType &a = in(0), &b = in(1);
    require(a.level == b.level && a.basis == b.basis,
            "operands are at different places: " + to_string(a) + " and " + to_string(b));
    ValueType type = a;
    type.degree = std::max(a.degree, b.degree);
    type.slots = std::max(a.slots, b.slots);
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
  ValueType product() const {
    const ValueType &a = in(0), &b = second();
    require(a.degree == 1 && b.degree == 1 && a.basis == Basis::kQ && b.basis == Basis::kQ,
            "factors must have degree 1 over Q: " + to_string(a) + " and " + to_string(b));
    require(a.level == b.level, "factors are at " + to_string(a.level) + " and " + to_string(b.level));
    ValueType type = a;
    type.degree = 2;
    type.slots = std::max(a.slots, b.slots);
    type.scale = a.scale * b.scale;
    type.count = joint_count();
    return type;
  }

  ValueType taken() const {
    const std::int64_t count = in(0).count;
    for (const std::int64_t number : instruction_.imm) {
      require(number >= 0 && number < count,
              "there is no ciphertext " + std::to_string(number) + " of " + std::to_string(count));
    }
    ValueType type = in(0);
    type.count = static_cast<std::uint32_t>(std::min<std::size_t>(instruction_.imm.size(), UINT32_MAX));
    return type;
  }
  ValueType joined_array() const {
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
  ValueType summed(ValueType type) const {
    const std::int64_t groups = instruction_.imm[0];
    require(groups >= 1 && type.count % groups == 0,
            std::to_string(type.count) + " ciphertexts do not make " + std::to_string(groups) + " groups");
    type.count = static_cast<std::uint32_t>(groups);
    return type;
  }

  ValueType key_switch_result(const ValueType& stated) const {
    ValueType type = in(0);
    switch (instruction_.op) {
      case Opcode::kHoist:
        require(type.basis == Basis::kQ, "the operand must be over Q");
        type.kind = TypeKind::kDigits;
        return type;
      case Opcode::kKeyProduct:
        if (plan_.keys()[in(1).key].kind == KeyKind::kGalois) {
          require_key(KeyKind::kGalois, 1, type.level);
        } else {
          require_key(KeyKind::kRelin, 2, type.level);
        }
        type.kind = TypeKind::kCipher;
        type.basis = Basis::kQP;
        break;
      case Opcode::kRotate:
        require_key(KeyKind::kGalois, 1, type.level);
        require(type.basis == Basis::kQ, "the operand must be over Q");
        return lowered(stated.level);
      case Opcode::kRelinearize:
        require_key(KeyKind::kRelin, 2, type.level);
        require(type.basis == Basis::kQ, "the operand must be over Q");
        return lowered(stated.level);
      case Opcode::kToSparse:
        require_key(KeyKind::kToSparse, 1, Level{});
        require(type.basis == Basis::kQ && type.level == Level{},
                "only a value over Q at level 0 of track 0 may be under the sparse secret, not " + to_string(type));
        type.secret = SecretKind::kSparse;
        return type;
      case Opcode::kModRaise:
        return raised(stated.level);
      default:
        return moved_result(stated);
    }
    type.degree = 1;
    return type;
  }

  /// The operand after a key switch that ends at a level not above it.
  ValueType lowered(Level to) const {
    require_downward(to);
    ValueType type = in(0);
    type.scale = divided_scale(plan_.parameters(), type.scale, plan_.parameters().dropped(type.level, to));
    type.level = to;
    type.degree = 1;
    return type;
  }
  ValueType raised(Level to) const {
    require_key(KeyKind::kToDense, 1, to);
    ValueType type = in(0);
    require(type.basis == Basis::kQ && type.level == Level{}, "needs a value at level 0, got " + to_string(type));
    require(instruction_.imm[0] >= 1, "factor " + std::to_string(instruction_.imm[0]) + " is not positive");
    type.level = to;
    type.scale *= static_cast<double>(instruction_.imm[0]);
    type.slots = plan_.parameters().ring_degree() / 2;
    type.basis = Basis::kQP;
    type.secret = SecretKind::kMain;
    return type;
  }

  /// Instructions whose stated type says where to go.
  ValueType moved_result(const ValueType& stated) const {
    ValueType type = in(0);
    switch (instruction_.op) {
      case Opcode::kModDown:
        require_downward(stated.level);
        type.scale =
            divided_scale(plan_.parameters(), type.scale, plan_.parameters().dropped(type.level, stated.level));
        type.basis = Basis::kQ;
        type.level = stated.level;
        return type;
      case Opcode::kDropLevel:
        require_downward(stated.level);
        type.level = stated.level;
        return type;
      case Opcode::kRelabel:
        require(plan_.parameters().basis(type.level) == plan_.parameters().basis(stated.level),
                to_string(stated.level) + " has other limbs than " + to_string(type.level));
        type.level = stated.level;
        type.scale = stated.scale;
        type.slots = stated.slots;
        return type;
      default:  // trivial
        type.kind = TypeKind::kCipher;
        type.degree = 1;
        type.is_addend = false;
        return type;
    }
  }
  void require_downward(Level to) const {
    require(to.track == in(0).level.track && to.index <= in(0).level.index,
            "there is no way down from " + to_string(in(0).level) + " to " + to_string(to));
  }

  const Plan& plan_;
  const Instruction& instruction_;
  const Site& site_;
};

}  // namespace

void check_types(const Plan& plan, const Instruction& instruction, const Site& site) {
  const TypeRule rule(plan, instruction, site);
  rule.check_secrets();
  if (instruction.op == Opcode::kDiagSums && instruction.out.empty()) site.fail("there is no result");
  for (const std::uint32_t reg : instruction.out) {
    const ValueType& stated = plan.type(reg);
    rule.check_scheme(stated);
    ValueType expected = instruction.op == Opcode::kDiagSums ? rule.sum() : rule.result(stated);
    const bool scales_agree = expected.scale == stated.scale || scales_match(stated.scale, expected.scale);
    if (!scales_agree) site.fail("the result is stated as " + to_string(stated) + ", it is " + to_string(expected));
    expected.scale = stated.scale;
    if (stated != expected) {
      site.fail("the result is stated as " + to_string(stated) + ", it is " + to_string(expected));
    }
  }
}

}  // namespace lw
