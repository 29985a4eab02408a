// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/format_json.h"

#include "libsten/core/registry/registry.h"

namespace sten {

using Json = nlohmann::ordered_json;

void put_sparsifier(Json& to, const char* key, const Sparsifier& s, const std::string& whose) {
  if (is_keep_all(s)) return;
  if (!s.has_spec())
    fail_usage("{}: sparsifier {} has no text: expected one of the registry", whose,
               s.name().text());
  to[key] = s.spec().str();
}

void put_layout(Json& to, const char* key, const Spec& layout) {
  if (!layout.is(Dense::name)) to[key] = layout.str();
}

Json format_json(const OutFormat& f, const std::string& whose) {
  Json j = Json::object();
  put_sparsifier(j, "inline", f.inline_by, whose);
  put_layout(j, "temporary", f.tmp);
  put_sparsifier(j, "external", f.external, whose);
  put_layout(j, "layout", f.layout);
  return j;
}

void read_sparsifier(const JsonReader& in, const char* key, Sparsifier& to) {
  if (!in.has(key)) return;
  const JsonReader at = in[key];
  const std::string text = at.text();
  at.read([&] { to = registry().sparsifier(Spec::parse(text)); });
}

void read_layout(const JsonReader& in, const char* key, Spec& to) {
  if (!in.has(key)) return;
  const JsonReader at = in[key];
  const std::string text = at.text();
  at.read([&] {
    to = Spec::parse(text);
    registry().check_layout(to);
  });
}

OutFormat read_format(const JsonReader& in) {
  in.check_keys({"inline", "temporary", "external", "layout"});
  OutFormat f;
  read_sparsifier(in, "inline", f.inline_by);
  read_layout(in, "temporary", f.tmp);
  read_sparsifier(in, "external", f.external);
  read_layout(in, "layout", f.layout);
  return f;
}

}  // namespace sten
