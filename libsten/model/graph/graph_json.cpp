// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/graph_json.h"

#include <charconv>
#include <cmath>
#include <iterator>

#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/text.h"
#include "libsten/model/graph/format_json.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

Json attributes_json(const Node& n) {
  Json j = Json::object();
  for (const auto& attribute : n.attributes.all()) {
    const auto put = [&](const auto& v) {
      if constexpr (std::is_same_v<std::decay_t<decltype(v)>, double>)
        if (!std::isfinite(v))
          fail_usage("node {}: attribute {} is {}, unsupported by JSON", quote(n.name),
                     quote(attribute.first), v);
      j[attribute.first] = v;
    };
    std::visit(put, attribute.second);
  }
  return j;
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
  in.check_keys(
      {"name", "shape", "init", "aliases", "format", "gradient", "in-by-out", "stacked-in"});
  Weight w{in["name"].text(), in["shape"].integers()};
  if (in.has("init")) {
    const JsonReader at = in["init"];
    const std::string text = at.text();
    w.init = at.read([&] { return Spec::parse(text); });
  }
  if (in.has("aliases")) w.aliases = in["aliases"].texts();
  if (in.has("format")) {
    const JsonReader at = in["format"];
    at.check_keys({"initial", "layout"});
    read_sparsifier(at, "initial", w.format.initial);
    read_layout(at, "layout", w.format.layout);
  }
  // Without the key, the format is that of the weight, not dense.
  if (in.has("gradient")) w.format.grad = read_format(in["gradient"]);
  if (in.has("in-by-out")) w.in_by_out = in["in-by-out"].truth();
  if (in.has("stacked-in"))
    for (const JsonReader& stack : in["stacked-in"].elements()) {
      stack.check_keys({"tensor", "shape", "first"});
      w.stacked_in.push_back(
          {stack["tensor"].text(), stack["shape"].integers(), stack["first"].integer()});
    }
  return w;
}

// Bytes as hexadecimal digits, which preserve every dtype bit for bit.
Json constant_json(const Constant& c) {
  std::string digits;
  for (const std::byte b : c.value.values.bytes())
    fmt::format_to(std::back_inserter(digits), "{:02x}", static_cast<unsigned>(b));
  return {{"name", c.name},
          {"dtype", name_of(c.value.dtype())},
          {"shape", c.value.extents},
          {"bytes", digits}};
}

Constant read_constant(const JsonReader& in) {
  in.check_keys({"name", "dtype", "shape", "bytes"});
  const std::optional<DType> dtype = dtype_from(in["dtype"].text());
  if (!dtype || width_of(*dtype) == 0)
    in["dtype"].fail(fmt::format("unknown data type {}", quote(in["dtype"].text())));
  const Shape shape = in["shape"].integers();
  const JsonReader bytes = in["bytes"];
  const std::string digits = bytes.text();
  const Index n = bytes.read([&] { return checked_size(shape); });
  const std::size_t width = width_of(*dtype);
  if (digits.size() % (2 * width) != 0 || static_cast<Index>(digits.size() / (2 * width)) != n)
    bytes.fail(fmt::format("expected two digits for each byte of {}, got {} digits",
                           to_string(shape), digits.size()));
  Dense x = Dense::zeros(*dtype, shape);
  std::byte* to = x.values.mutate_bytes();
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned value = 0;
    const char* end = digits.data() + i + 2;
    if (std::from_chars(digits.data() + i, end, value, 16).ptr != end)
      bytes.fail("expected hexadecimal digits");
    to[i / 2] = static_cast<std::byte>(value);
  }
  return {in["name"].text(), std::move(x)};
}

Node read_node(const JsonReader& in) {
  in.check_keys({"name", "op", "inputs", "attributes", "format", "gradient"});
  Node n{in["name"].text(), in["op"].text(), in["inputs"].texts()};
  if (in.has("attributes")) n.attributes = read_attributes(in["attributes"]);
  if (in.has("format")) n.formats.out = read_format(in["format"]);
  if (in.has("gradient")) n.formats.grad = read_format(in["gradient"]);
  return n;
}

RunningStatistics read_statistics(const JsonReader& in) {
  in.check_keys({"moments", "mean", "variance", "momentum"});
  RunningStatistics s{in["moments"].text(), in["mean"].text(), in["variance"].text()};
  if (in.has("momentum")) s.momentum = in["momentum"].number();
  return s;
}

}  // namespace

std::string to_json(const Graph& g) {
  Json j;
  j["inputs"] = g.inputs();
  j["weights"] = Json::array();
  for (const Weight& w : g.weights()) {
    Json one{{"name", w.name}, {"shape", w.shape}, {"init", w.init.str()}};
    if (!w.aliases.empty()) one["aliases"] = w.aliases;
    const std::string whose = "weight " + quote(w.name);
    Json format = Json::object();
    put_sparsifier(format, "initial", w.format.initial, whose);
    put_layout(format, "layout", w.format.layout);
    if (!format.empty()) one["format"] = std::move(format);
    if (w.format.grad) one["gradient"] = format_json(*w.format.grad, whose);
    if (w.in_by_out) one["in-by-out"] = true;
    for (const StackedWeight& s : w.stacked_in)
      one["stacked-in"].push_back({{"tensor", s.tensor}, {"shape", s.shape}, {"first", s.first}});
    j["weights"].push_back(std::move(one));
  }
  for (const Constant& c : g.constants()) j["constants"].push_back(constant_json(c));
  j["nodes"] = Json::array();
  for (const Node& n : g.nodes()) {
    Json one{{"name", n.name}, {"op", n.op.text()}, {"inputs", n.inputs}};
    if (!n.attributes.all().empty()) one["attributes"] = attributes_json(n);
    const std::string whose = "node " + quote(n.name);
    if (Json f = format_json(n.formats.out, whose); !f.empty()) one["format"] = std::move(f);
    if (Json f = format_json(n.formats.grad, whose); !f.empty()) one["gradient"] = std::move(f);
    j["nodes"].push_back(std::move(one));
  }
  j["outputs"] = g.outputs();
  for (const RunningStatistics& s : g.statistics())
    j["statistics"].push_back({{"moments", s.moments},
                               {"mean", s.mean},
                               {"variance", s.variance},
                               {"momentum", s.momentum}});
  try {
    return j.dump(1);
  } catch (const Json::type_error&) {
    fail_usage("the graph has a name that is not UTF-8");
  }
}

Graph parse_graph(std::string_view json) {
  const Json document = parse_json(json, "graph");
  const JsonReader in(document, "graph");
  in.check_keys({"inputs", "weights", "constants", "nodes", "outputs", "statistics"});
  GraphParts parts;
  parts.inputs = in["inputs"].texts();
  for (const JsonReader& w : in["weights"].elements()) parts.weights.push_back(read_weight(w));
  if (in.has("constants"))
    for (const JsonReader& c : in["constants"].elements())
      parts.constants.push_back(read_constant(c));
  for (const JsonReader& n : in["nodes"].elements()) parts.nodes.push_back(read_node(n));
  parts.outputs = in["outputs"].texts();
  if (in.has("statistics"))
    for (const JsonReader& s : in["statistics"].elements())
      parts.statistics.push_back(read_statistics(s));
  return in.read([&] { return Graph(std::move(parts)); });
}

}  // namespace sten
