#include "libsten/training/trainer/recovery_state.h"

#include "libsten/core/base/text.h"

namespace sten {
namespace {

constexpr std::string_view value_key = "value";

std::string name_of(std::string_view key, const std::string& weight) {
  return fmt::format("{}{}.{}", before_prefix, key, weight);
}

}  // namespace

nlohmann::ordered_json to_json(const RecoveryState& r) {
  nlohmann::ordered_json json;
  json["entry"] = r.entry;
  if (r.reference) json["reference"] = *r.reference;
  json["layers"] = nlohmann::ordered_json::array();
  for (const TriedLayer& l : r.layers) {
    nlohmann::ordered_json& at = json["layers"].emplace_back();
    at["step"] = l.step;
    at["rounds"] = l.rounds.count;
    at["worse"] = l.rounds.worse;
    if (l.rounds.best) at["best"] = real_json(*l.rounds.best);
    at["loss"] = real_json(l.loss);
    at["dense"] = l.is_dense;
  }
  if (r.before) json["before"] = r.before->name;
  return json;
}

RecoveryState read_recovery(const JsonReader& in) {
  RecoveryState r;
  r.entry = static_cast<std::size_t>(in["entry"].natural());
  if (in.has("reference")) r.reference = in["reference"].number();
  for (const JsonReader& at : in["layers"].elements()) {
    TriedLayer& l = r.layers.emplace_back();
    l.step = static_cast<Index>(at["step"].natural());
    l.rounds.count = static_cast<Index>(at["rounds"].natural());
    l.rounds.worse = static_cast<Index>(at["worse"].natural());
    if (at.has("best")) l.rounds.best = at["best"].real();
    l.loss = at["loss"].real();
    l.is_dense = at["dense"].truth();
  }
  if (in.has("before")) r.before.emplace(in["before"].text(), Dense::zeros(DType::F32, {0}));
  return r;
}

std::vector<std::pair<std::string, Tensor>> tensors_before(const RecoveryState& r) {
  std::vector<std::pair<std::string, Tensor>> all;
  if (!r.before) return all;
  all.emplace_back(name_of(value_key, r.before->name), r.before->value);
  for (const auto& [key, s] : r.before->state) all.emplace_back(name_of(key, r.before->name), s);
  return all;
}

void restore_before(std::vector<RecoveryState>& all, const std::string& name, Tensor tensor) {
  const std::size_t dot = name.find('.', before_prefix.size());
  for (RecoveryState& r : all) {
    if (dot == std::string::npos || !r.before || r.before->name != name.substr(dot + 1)) continue;
    const std::string key = name.substr(before_prefix.size(), dot - before_prefix.size());
    if (key == value_key)
      r.before->value = std::move(tensor);
    else
      r.before->state.emplace(key, std::move(tensor));
    return;
  }
  fail("unknown tensor {} in a training state", quote(name));
}

}  // namespace sten
