#include "libsten/graph/graph_json.h"

#include <cmath>

#include "libsten/base/json_reader.h"
#include "libsten/base/text.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

Json attributes_json(const Node& n) {
  Json j = Json::object();
  for (const auto& attribute : n.attributes.all()) {
    const auto put = [&](const auto& v) {
      if constexpr (std::is_same_v<std::decay_t<decltype(v)>, double>)
        if (!std::isfinite(v))
          fail_usage("node {}: attribute {} is {}, which JSON does not have", quote(n.name),
                     quote(attribute.first), v);
      j[attribute.first] = v;
    };
    std::visit(put, attribute.second);
  }
  return j;
}

// Parts that are keep-all or dense are not written.
Json format_json(const Node& n, const OutFormat& f) {
  static const Name keep_all(KeepAll::name);
  Json j = Json::object();
  const auto put_sparsifier = [&](const char* key, const Sparsifier& s) {
    if (s.name() == keep_all) return;
    if (!s.has_spec())
      fail_usage("node {}: its sparsifier {} has no text, as it was not made by the registry",
                 quote(n.name), s.name().text());
    j[key] = s.spec().str();
  };
  const auto put_layout = [&](const char* key, const Spec& s) {
    if (!s.is("dense")) j[key] = s.str();
  };
  put_sparsifier("inline", f.inline_by);
  put_layout("temporary", f.tmp);
  put_sparsifier("external", f.external);
  put_layout("layout", f.layout);
  return j;
}

OutFormat read_format(const JsonReader& in) {
  in.check_keys({"inline", "temporary", "external", "layout"});
  OutFormat f;
  const auto spec = [&](const char* key, auto&& use) {
    if (!in.has(key)) return;
    const JsonReader at = in[key];
    const std::string text = at.text();
    at.read([&] { use(Spec::parse(text)); });
  };
  const auto layout = [](Spec& to) {
    return [&to](Spec s) {
      registry().check_layout(s);
      to = std::move(s);
    };
  };
  spec("inline", [&](const Spec& s) { f.inline_by = registry().sparsifier(s); });
  spec("temporary", layout(f.tmp));
  spec("external", [&](const Spec& s) { f.external = registry().sparsifier(s); });
  spec("layout", layout(f.layout));
  return f;
}

Attributes read_attributes(const JsonReader& in) {
  Attributes a;
  for (const auto& [name, value] : in.members()) {
    if (value.json().is_array())
      a.set(name, Attributes::Value(value.integers()));
    else if (value.json().is_string())
      a.set(name, Attributes::Value(value.text()));
    else if (value.json().is_number_integer())
      a.set(name, value.integer());
    else
      a.set(name, value.number());
  }
  return a;
}

Weight read_weight(const JsonReader& in) {
  in.check_keys({"name", "shape", "init", "aliases"});
  Weight w{in["name"].text(), in["shape"].integers()};
  if (in.has("init")) {
    const JsonReader at = in["init"];
    const std::string text = at.text();
    w.init = at.read([&] { return Spec::parse(text); });
  }
  if (in.has("aliases")) w.aliases = in["aliases"].texts();
  return w;
}

Node read_node(const JsonReader& in) {
  in.check_keys({"name", "op", "inputs", "attributes", "format", "gradient"});
  Node n{in["name"].text(), in["op"].text(), in["inputs"].texts()};
  if (in.has("attributes")) n.attributes = read_attributes(in["attributes"]);
  if (in.has("format")) n.formats.out = read_format(in["format"]);
  if (in.has("gradient")) n.formats.grad = read_format(in["gradient"]);
  return n;
}

}  // namespace

std::string to_json(const Graph& g) {
  Json j;
  j["inputs"] = g.inputs();
  j["weights"] = Json::array();
  for (const Weight& w : g.weights()) {
    Json one{{"name", w.name}, {"shape", w.shape}, {"init", w.init.str()}};
    if (!w.aliases.empty()) one["aliases"] = w.aliases;
    j["weights"].push_back(std::move(one));
  }
  j["nodes"] = Json::array();
  for (const Node& n : g.nodes()) {
    Json one{{"name", n.name}, {"op", n.op.text()}, {"inputs", n.inputs}};
    if (!n.attributes.all().empty()) one["attributes"] = attributes_json(n);
    if (Json f = format_json(n, n.formats.out); !f.empty()) one["format"] = std::move(f);
    if (Json f = format_json(n, n.formats.grad); !f.empty()) one["gradient"] = std::move(f);
    j["nodes"].push_back(std::move(one));
  }
  j["outputs"] = g.outputs();
  try {
    return j.dump(1);
  } catch (const Json::type_error&) {
    fail_usage("the graph has a name that is not UTF-8");
  }
}

Graph parse_graph(std::string_view json) {
  const Json document = parse_json(json, "graph");
  const JsonReader in(document, "graph");
  in.check_keys({"inputs", "weights", "nodes", "outputs"});
  GraphParts parts;
  parts.inputs = in["inputs"].texts();
  for (const JsonReader& w : in["weights"].elements()) parts.weights.push_back(read_weight(w));
  for (const JsonReader& n : in["nodes"].elements()) parts.nodes.push_back(read_node(n));
  parts.outputs = in["outputs"].texts();
  return in.read([&] { return Graph(std::move(parts)); });
}

}  // namespace sten
