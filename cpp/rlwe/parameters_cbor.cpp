#include "io/cbor_field.hpp"
#include "math/error.hpp"
#include "rlwe/parameters.hpp"

namespace lw {
namespace {

constexpr std::string_view kName = "parameters";

cbor::Value limb_lists(const std::vector<LimbList>& lists) {
  cbor::Array out;
  for (const LimbList& list : lists) out.push_back(cbor::Value::array(std::span<const std::uint16_t>(list)));
  return out;
}

std::vector<LimbList> read_limb_lists(cbor::Field field) {
  std::vector<LimbList> lists;
  for (std::size_t i = 0; i < field.size(); ++i) lists.push_back(field[i].as_unsigned_list<std::uint16_t>());
  return lists;
}

cbor::Value track_map(const Track& track) {
  return cbor::Map{{"groups", limb_lists(track.groups)},
                   {"scales", cbor::Value::array(std::span<const double>(track.scales))}};
}

cbor::Value gadget_map(const Gadget& gadget) {
  return cbor::Map{{"limbs", gadget.limbs}, {"num_special", gadget.num_special}, {"digits", limb_lists(gadget.digits)}};
}

Gadget read_gadget(cbor::Field field) {
  field.require_keys({"limbs", "num_special", "digits"});
  return {field["limbs"].as_unsigned(UINT16_MAX), field["num_special"].as_unsigned(UINT16_MAX),
          read_limb_lists(field["digits"])};
}

Track read_track(cbor::Field field) {
  field.require_keys({"groups", "scales"});
  Track track{read_limb_lists(field["groups"]), {}};
  const cbor::Field scales = field["scales"];
  for (std::size_t i = 0; i < scales.size(); ++i) track.scales.push_back(scales[i].as_double());
  return track;
}

}  // namespace

std::vector<std::uint8_t> Parameters::to_cbor() const {
  cbor::Array tracks;
  for (const Track& track : fields_.tracks) tracks.push_back(track_map(track));
  cbor::Map map{{"ring_degree", fields_.ring_degree},
                {"q", cbor::Value::array(std::span<const std::uint64_t>(fields_.q))},
                {"p", cbor::Value::array(std::span<const std::uint64_t>(fields_.p))},
                {"digits", limb_lists(fields_.digits)},
                {"tracks", std::move(tracks)},
                {"secret", fields_.secret},
                {"security_bits", fields_.security_bits},
                {"insecure", fields_.insecure}};
  if (is_bfv()) map.add("plain_modulus", fields_.plain_modulus);
  if (fields_.secret_weight != 0) map.add("secret_weight", fields_.secret_weight);
  if (!fields_.gadgets.empty()) {
    cbor::Array gadgets;
    for (const Gadget& gadget : fields_.gadgets) gadgets.push_back(gadget_map(gadget));
    map.add("low_p", cbor::Value::array(std::span<const std::uint64_t>(fields_.low_p)));
    map.add("gadgets", std::move(gadgets));
  }
  return cbor::encode(std::move(map));
}

Parameters Parameters::from_cbor(std::span<const std::uint8_t> bytes) {
  const cbor::Value document = cbor::decode(bytes);
  const cbor::Field root(document, kName);
  const std::optional<cbor::Field> plain_modulus = root.find("plain_modulus"), weight = root.find("secret_weight");
  std::vector<std::string_view> keys = {"ring_degree",   "q",       "p", "digits", "tracks", "secret",
                                        "security_bits", "insecure"};
  if (plain_modulus) keys.emplace_back("plain_modulus");
  if (weight) keys.emplace_back("secret_weight");
  const std::optional<cbor::Field> low_p = root.find("low_p"), gadgets = root.find("gadgets");
  if (low_p) keys.emplace_back("low_p");
  if (gadgets) keys.emplace_back("gadgets");
  root.require_keys(keys);
  ParameterFields fields;
  fields.ring_degree = static_cast<std::uint32_t>(root["ring_degree"].as_unsigned(UINT32_MAX));
  fields.q = root["q"].as_unsigned_list<std::uint64_t>();
  fields.p = root["p"].as_unsigned_list<std::uint64_t>();
  fields.digits = read_limb_lists(root["digits"]);
  const cbor::Field tracks = root["tracks"];
  for (std::size_t i = 0; i < tracks.size(); ++i) fields.tracks.push_back(read_track(tracks[i]));
  fields.secret = root["secret"].as_text();
  fields.security_bits = static_cast<std::uint32_t>(root["security_bits"].as_unsigned(UINT32_MAX));
  fields.insecure = root["insecure"].as_bool();
  if (plain_modulus) {
    fields.plain_modulus = plain_modulus->as_unsigned();
    if (fields.plain_modulus == 0) plain_modulus->fail("must not be 0; CKKS parameters have no such field");
  }
  if (weight) {
    fields.secret_weight = static_cast<std::uint32_t>(weight->as_unsigned(fields.ring_degree));
    if (fields.secret_weight == 0) weight->fail("must not be 0; uniform secrets have no such field");
  }
  if (low_p) fields.low_p = low_p->as_unsigned_list<std::uint64_t>();
  if (gadgets) {
    if (gadgets->size() == 0) gadgets->fail("must not be empty; parameters with one gadget have no such field");
    for (std::size_t i = 0; i < gadgets->size(); ++i) fields.gadgets.push_back(read_gadget((*gadgets)[i]));
  }
  if (low_p.has_value() != gadgets.has_value()) root.fail("low_p and gadgets belong together");
  try {
    return Parameters(std::move(fields));
  } catch (const Error& error) {
    throw Error(ErrorKind::kFormat, error.what());
  }
}

}  // namespace lw
