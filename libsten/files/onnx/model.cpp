// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/onnx/model.h"

#include <algorithm>
#include <utility>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

// read_value() reads the value of a field.
void read_value(const WireMessage& m, std::string_view& out) { out = m.text(); }
void read_value(const WireMessage& m, bool& out) { out = m.varint() == 1; }
void read_value(const WireMessage& m, float& out) { out = m.float32(); }
void read_value(const WireMessage& m, std::int32_t& out) { out = m.integer32(); }
void read_value(const WireMessage& m, std::int64_t& out) { out = m.integer(); }
void read_value(const WireMessage& m, std::optional<std::int64_t>& out) { out = m.integer(); }
void read_value(const WireMessage& m, ByteRange& out) { out = m.bytes(); }
void read_value(const WireMessage& m, std::vector<float>& out) { m.add_to(out); }
void read_value(const WireMessage& m, std::vector<std::int64_t>& out) { m.add_to(out); }
// Defined below, where their fields are.
void read_value(const WireMessage& m, OnnxTensor& out);
void read_value(const WireMessage& m, OnnxExternal& out);
void read_value(const WireMessage& m, OnnxAttributeType& out);
void read_value(const WireMessage& m, OnnxAttribute& out);
void read_value(const WireMessage& m, OnnxNode& out);
void read_value(const WireMessage& m, OnnxDimension& out);
void read_value(const WireMessage& m, OnnxValue& out);
void read_value(const WireMessage& m, OnnxOpset& out);
void read_value(const WireMessage& m, std::optional<std::vector<OnnxDimension>>& out);
void read_value(const WireMessage& m, std::optional<OnnxGraph>& out);
// Adds an element.
template <class T>
void read_value(const WireMessage& m, std::vector<T>& out) {
  read_value(m, out.emplace_back());
}

// A field of a message: its number in onnx.proto, and where its value goes.
template <class T>
struct Field {
  std::uint32_t number;
  T out;  // a reference, or one of the types below
};
template <class T>
Field<T> field(std::uint32_t number, T&& out) {
  return {number, std::forward<T>(out)};
}

// Reads the fields of a message in the file's order. Others are skipped.
template <class... T>
void read_fields(ByteRange message, const WireFile& file, const Field<T>&... fields) {
  for (WireMessage m(message, file); m.next();)
    ((m.number() == fields.number ? read_value(m, fields.out) : void()), ...);
}

// StringStringEntryProto.
struct Entry {
  std::string_view key, value;
};
void read_value(const WireMessage& m, Entry& e) {
  read_fields(m.bytes(), m.file(), field(1, e.key), field(2, e.value));
}

void read_value(const WireMessage& m, OnnxExternal& out) {
  Entry e;
  read_value(m, e);
  const auto number = [&] {
    std::int64_t n = 0;
    if (!parse_integer(e.value, n) || n < 0)
      m.broken(fmt::format("external data has the {} {}", e.key, quote(e.value)));
    return static_cast<std::uint64_t>(n);
  };
  if (e.key == "location") out.location = e.value;
  if (e.key == "offset") out.offset = number();
  if (e.key == "length") out.length = number();
}

// Elements of `tensor` in the field for `store`, packed or of the wire type `single`.
struct Elements {
  OnnxTensor& tensor;
  OnnxStore store;
  WireType single;
};
void read_value(const WireMessage& m, const Elements& out) {
  OnnxTensor& t = out.tensor;
  if (m.type() != WireType::bytes && m.type() != out.single)
    m.broken(fmt::format("field {} of a tensor has wire type {}", m.number(),
                         static_cast<int>(m.type())));
  // Writers may add fields without elements.
  if (m.value().empty() && out.store != OnnxStore::string_data) return;
  if (t.store != OnnxStore::none && t.store != out.store)
    m.broken("a tensor's elements are stored in two ways");
  if (out.store == OnnxStore::raw_data && !t.pieces.empty())
    m.broken("a tensor has raw_data twice");
  t.store = out.store;
  t.pieces.push_back(m.value());
}

struct Segment {};
void read_value(const WireMessage& m, Segment) { m.broken("a tensor is one of several segments"); }

void read_value(const WireMessage& m, OnnxTensor& t) {
  bool is_external = false;
  read_fields(m.bytes(), m.file(), field(1, t.dims), field(2, t.data_type), field(3, Segment{}),
              field(4, Elements{t, OnnxStore::float_data, WireType::fixed32}),
              field(5, Elements{t, OnnxStore::int32_data, WireType::varint}),
              field(6, Elements{t, OnnxStore::string_data, WireType::bytes}),
              field(7, Elements{t, OnnxStore::int64_data, WireType::varint}), field(8, t.name),
              field(9, Elements{t, OnnxStore::raw_data, WireType::bytes}),
              field(10, Elements{t, OnnxStore::double_data, WireType::fixed64}),
              field(11, Elements{t, OnnxStore::uint64_data, WireType::varint}),
              field(13, t.external), field(14, is_external));
  if (!is_external) return;
  if (t.store != OnnxStore::none) m.broken("a tensor's elements are stored in two ways");
  t.store = OnnxStore::external;
}

void read_value(const WireMessage& m, OnnxAttributeType& out) {
  if (m.varint() > static_cast<std::uint64_t>(OnnxAttributeType::types))
    m.broken(fmt::format("unknown type {} of an attribute", m.varint()));
  out = static_cast<OnnxAttributeType>(m.varint());
}

void read_value(const WireMessage& m, OnnxAttribute& a) {
  read_fields(m.bytes(), m.file(), field(1, a.name), field(2, a.number), field(3, a.integer),
              field(4, a.string), field(5, a.tensors), field(6, a.graphs), field(7, a.numbers),
              field(8, a.integers), field(9, a.strings), field(10, a.tensors), field(11, a.graphs),
              field(14, a.types), field(15, a.types), field(20, a.type), field(21, a.refers_to),
              field(22, a.sparse_tensors), field(23, a.sparse_tensors));
}

void read_value(const WireMessage& m, OnnxNode& n) {
  std::vector<Entry> metadata;
  read_fields(m.bytes(), m.file(), field(1, n.inputs), field(2, n.outputs), field(3, n.name),
              field(4, n.op_type), field(5, n.attributes), field(7, n.domain), field(8, n.overload),
              field(9, metadata));
  for (const Entry& e : metadata)
    if (e.key == "pkg.torch.onnx.name_scopes") n.module_scopes = e.value;
}

void read_value(const WireMessage& m, OnnxDimension& d) {
  read_fields(m.bytes(), m.file(), field(1, d.size), field(2, d.symbol));
}

void read_value(const WireMessage& m, std::optional<std::vector<OnnxDimension>>& shape) {
  read_fields(m.bytes(), m.file(), field(1, shape.emplace()));
}

// The field of a TypeProto for values of a kind.
struct KindOf {
  OnnxValue& value;
  OnnxKind kind;
};
void read_value(const WireMessage& m, const KindOf& out) {
  OnnxValue& v = out.value;
  v.kind = out.kind;
  if (v.kind == OnnxKind::tensor || v.kind == OnnxKind::sparse_tensor)
    read_fields(m.bytes(), m.file(), field(1, v.elem_type), field(2, v.shape));
}

struct TypeOf {
  OnnxValue& value;
};
void read_value(const WireMessage& m, const TypeOf& out) {
  OnnxValue& v = out.value;
  v.type = m.bytes();
  read_fields(v.type, m.file(), field(1, KindOf{v, OnnxKind::tensor}),
              field(4, KindOf{v, OnnxKind::sequence}), field(5, KindOf{v, OnnxKind::map}),
              field(8, KindOf{v, OnnxKind::sparse_tensor}),
              field(9, KindOf{v, OnnxKind::optional}));
}

void read_value(const WireMessage& m, OnnxValue& v) {
  read_fields(m.bytes(), m.file(), field(1, v.name), field(2, TypeOf{v}));
}

void read_value(const WireMessage& m, OnnxOpset& o) {
  read_fields(m.bytes(), m.file(), field(1, o.domain), field(2, o.version));
}

void read_value(const WireMessage& m, std::optional<OnnxGraph>& out) {
  if (out) m.broken("a second graph");
  out = read_onnx_graph(m.bytes(), m.file());
}

// Whether the field is there.
struct Presence {
  bool& is_present;
};
void read_value(const WireMessage&, const Presence& out) { out.is_present = true; }

}  // namespace

const OnnxAttribute* OnnxNode::find(std::string_view attribute) const {
  const auto at = std::find_if(attributes.begin(), attributes.end(),
                               [&](const OnnxAttribute& a) { return a.name == attribute; });
  return at == attributes.end() ? nullptr : &*at;
}

OnnxGraph read_onnx_graph(ByteRange graph, const WireFile& file) {
  OnnxGraph g;
  read_fields(graph, file, field(1, g.nodes), field(2, g.name), field(5, g.initializers),
              field(11, g.inputs), field(12, g.outputs), field(13, g.values),
              field(15, g.sparse_initializers));
  return g;
}

OnnxModel read_onnx_model(ByteRange bytes, const std::string& file_name) {
  const WireFile file{bytes, printable(file_name)};
  OnnxModel model;
  std::optional<std::int64_t> version;
  std::optional<OnnxGraph> graph;
  read_fields(bytes, file, field(1, version), field(2, model.producer),
              field(3, model.producer_version), field(4, model.domain),
              field(5, model.model_version), field(7, graph), field(8, model.opsets),
              field(20, Presence{model.has_training}), field(25, model.functions));
  if (!version) fail("{}: not an ONNX model: missing ir_version", file.name);
  if (!graph) fail("{}: the ONNX model has no graph (is the file truncated?)", file.name);
  model.ir_version = *version;
  model.graph = std::move(*graph);
  return model;
}

}  // namespace sten
