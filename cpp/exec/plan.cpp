#include "exec/plan.hpp"

#include <bit>
#include <cmath>

#include "exec/plan_check.hpp"
#include "io/cbor_field.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

constexpr std::uint64_t kMaxCount = 1 << 16;  // of an array

std::uint32_t as_u32(cbor::Field field) { return static_cast<std::uint32_t>(field.as_unsigned(UINT32_MAX)); }

/// A cipher, digits or plain type: what they have in common.
ValueType read_slots(cbor::Field field, TypeKind kind, std::size_t size, const Parameters& parameters) {
  if (field.size() != size && field.size() != size + 1) field.fail("expected " + std::to_string(size) + " items");
  ValueType type;
  type.kind = kind;
  type.slots = as_u32(field[1]);
  if (!std::has_single_bit(type.slots) || type.slots > parameters.ring_degree() / 2) {
    field[1].fail("slots must be a power of two up to " + std::to_string(parameters.ring_degree() / 2));
  }
  type.level = {as_u32(field[2]), as_u32(field[3])};
  if (!parameters.has_level(type.level)) field.fail("these parameters have no " + to_string(type.level));
  type.scale = field[4].as_double();
  if (!std::isfinite(type.scale) || !(type.scale > 0)) field[4].fail("a scale must be positive and finite");
  if (field.size() == size) return type;  // a count stands last, if it is not 1
  type.count = static_cast<std::uint32_t>(field[size].as_unsigned(kMaxCount));
  if (type.count == 0) field[size].fail("an array must not be empty");
  return type;
}

std::uint32_t read_degree(cbor::Field field) {
  const std::uint32_t degree = as_u32(field);
  if (degree < 1 || degree > kMaxCiphertextDegree) {
    field.fail("degree must be from 1 to " + std::to_string(kMaxCiphertextDegree) + ", got " + std::to_string(degree));
  }
  return degree;
}

ValueType read_type(cbor::Field field, const Parameters& parameters, std::size_t num_keys) {
  const std::string_view name = field[0].as_text();
  const auto require_size = [&field](std::size_t size) {
    if (field.size() != size) field.fail("expected " + std::to_string(size) + " items");
  };
  ValueType type;
  if (name == "cipher") {
    type = read_slots(field, TypeKind::kCipher, 8, parameters);
    type.degree = read_degree(field[5]);
    type.basis = static_cast<Basis>(field[6].as_unsigned(1));
    type.secret = static_cast<SecretKind>(field[7].as_unsigned(1));
  } else if (name == "digits") {
    type = read_slots(field, TypeKind::kDigits, 6, parameters);
    type.degree = read_degree(field[5]);
  } else if (name == "plain" || name == "addend") {
    type = read_slots(field, TypeKind::kPlain, 6, parameters);
    type.basis = static_cast<Basis>(field[5].as_unsigned(1));
    type.is_addend = name == "addend";
  } else if (name == "key") {
    require_size(2);
    type.kind = TypeKind::kKey;
    type.key = as_u32(field[1]);
    if (type.key >= num_keys) field[1].fail("there is no key " + std::to_string(type.key));
  } else if (name == "index") {
    require_size(1);
  } else {
    field[0].fail("unknown type \"" + std::string(name) + "\"");
  }
  return type;
}

KeySpec read_key(cbor::Field field, const Parameters& parameters) {
  field.require_keys({"kind", "galois_element", "track", "level"});
  try {
    const KeySpec spec{to_kind(field["kind"].as_text()),
                       field["galois_element"].as_unsigned(),
                       {as_u32(field["track"]), as_u32(field["level"])}};
    check_spec(spec, parameters);
    return spec;
  } catch (const Error& error) {
    field.fail(error.what());
  }
}

Instruction read_instruction(cbor::Field field) {
  if (field.size() != 5) field.fail("expected 5 items, got " + std::to_string(field.size()));
  const std::uint64_t number = field[0].as_unsigned();
  if (number >= std::size(kOpcodes)) field[0].fail("there is no opcode " + std::to_string(number));
  Instruction instruction{static_cast<Opcode>(number), as_u32(field[1]), {}, {}, {}, {}};
  const cbor::Field in = field[2], imm = field[4];
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint64_t operand = in[i].as_unsigned(2ull * UINT32_MAX + 1);
    instruction.in.push_back({static_cast<std::uint32_t>(operand >> 1), (operand & 1) != 0});
  }
  instruction.out = field[3].as_unsigned_list<std::uint32_t>();
  for (std::size_t i = 0; i < imm.size(); ++i) instruction.imm.push_back(imm[i].as_signed());
  return instruction;
}

Block read_block(cbor::Field field) {
  field.require_keys({"args", "code"});
  Block block{field["args"].as_unsigned_list<std::uint32_t>(), {}};
  const cbor::Field code = field["code"];
  for (std::size_t i = 0; i < code.size(); ++i) block.code.push_back(read_instruction(code[i]));
  return block;
}

}  // namespace

std::string to_string(const ValueType& type) {
  const std::string count = type.count == 1 ? "" : std::to_string(type.count) + " x ";
  const std::string place = count + std::to_string(type.slots) + " slots, " + to_string(type.level) + ", scale 2^" +
                            std::to_string(type.scale > 0 ? std::log2(type.scale) : 0);
  const std::string degree = ", degree " + std::to_string(type.degree);
  const std::string basis = type.basis == Basis::kQ ? ", over Q" : ", over QP";
  switch (type.kind) {
    case TypeKind::kCipher:
      return "cipher(" + place + degree + basis + (type.secret == SecretKind::kSparse ? ", sparse secret)" : ")");
    case TypeKind::kDigits:
      return "digits(" + place + degree + ")";
    case TypeKind::kPlain:
      return (type.is_addend ? "addend(" : "plain(") + place + basis + ")";
    case TypeKind::kKey:
      return "key(" + std::to_string(type.key) + ")";
    case TypeKind::kIndex:
      break;
  }
  return "index";
}

Plan::Plan(std::shared_ptr<const Parameters> parameters, std::span<const std::uint8_t> code)
    : parameters_(std::move(parameters)) {
  const cbor::Value document = cbor::decode(code);
  const cbor::Field root(document, "plan");
  root.require_keys({"types", "registers", "blocks", "keys", "constants"});
  const cbor::Field keys = root["keys"], types = root["types"], registers = root["registers"], blocks = root["blocks"];
  for (std::size_t i = 0; i < keys.size(); ++i) keys_.push_back(read_key(keys[i], *parameters_));
  for (std::size_t i = 0; i < types.size(); ++i) types_.push_back(read_type(types[i], *parameters_, keys_.size()));
  register_types_ = registers.as_unsigned_list<std::uint32_t>();
  for (std::size_t i = 0; i < register_types_.size(); ++i) {
    if (register_types_[i] >= types_.size()) {
      registers[i].fail("there is no type " + std::to_string(register_types_[i]));
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks_.push_back(read_block(blocks[i]));
  num_constants_ = as_u32(root["constants"]);
  check_structure(*this, blocks_, trip_limits_);
}

}  // namespace lw
