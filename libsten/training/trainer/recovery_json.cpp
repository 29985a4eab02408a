// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/recovery_json.h"

namespace sten {

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

}  // namespace sten
