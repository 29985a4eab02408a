#include "libsten/files/onnx/model.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

// Field numbers are those of onnx.proto.

void read_external(const WireMessage& entry, OnnxExternal& out) {
  std::string_view key, value;
  for (WireMessage m(entry.bytes(), entry.file()); m.next();) {
    if (m.number() == 1) key = m.text();
    if (m.number() == 2) value = m.text();
  }
  const auto number = [&] {
    std::int64_t n = 0;
    if (!parse_integer(value, n) || n < 0)
      entry.broken(fmt::format("external data has the {} {}", key, quote(value)));
    return static_cast<std::uint64_t>(n);
  };
  if (key == "location") out.location = value;
  if (key == "offset") out.offset = number();
  if (key == "length") out.length = number();
}

OnnxTensor read_tensor(const WireMessage& field) {
  OnnxTensor t;
  bool is_external = false;
  const auto stored = [&](const WireMessage& m, OnnxStore store, WireType single) {
    if (m.type() != WireType::bytes && m.type() != single)
      m.broken(fmt::format("field {} of a tensor has wire type {}", m.number(),
                           static_cast<int>(m.type())));
    // Writers may add fields without elements.
    if (m.value().empty() && store != OnnxStore::string_data) return;
    if (t.store != OnnxStore::none && t.store != store)
      m.broken("a tensor's elements are stored in two ways");
    if (store == OnnxStore::raw_data && !t.pieces.empty()) m.broken("a tensor has raw_data twice");
    t.store = store;
    t.pieces.push_back(m.value());
  };
  for (WireMessage m(field.bytes(), field.file()); m.next();) {
    switch (m.number()) {
      case 1:
        m.add_to(t.dims);
        break;
      case 2:
        t.data_type = m.integer32();
        break;
      case 3:
        m.broken("a tensor is one of several segments");
      case 4:
        stored(m, OnnxStore::float_data, WireType::fixed32);
        break;
      case 5:
        stored(m, OnnxStore::int32_data, WireType::varint);
        break;
      case 6:
        stored(m, OnnxStore::string_data, WireType::bytes);
        break;
      case 7:
        stored(m, OnnxStore::int64_data, WireType::varint);
        break;
      case 8:
        t.name = m.text();
        break;
      case 9:
        stored(m, OnnxStore::raw_data, WireType::bytes);
        break;
      case 10:
        stored(m, OnnxStore::double_data, WireType::fixed64);
        break;
      case 11:
        stored(m, OnnxStore::uint64_data, WireType::varint);
        break;
      case 13:
        read_external(m, t.external);
        break;
      case 14:
        is_external = m.varint() == 1;
        break;
      default:
        break;
    }
  }
  if (is_external) {
    if (t.store != OnnxStore::none) field.broken("a tensor's elements are stored in two ways");
    t.store = OnnxStore::external;
  }
  return t;
}

OnnxAttribute read_attribute(const WireMessage& field) {
  OnnxAttribute a;
  for (WireMessage m(field.bytes(), field.file()); m.next();) {
    switch (m.number()) {
      case 1:
        a.name = m.text();
        break;
      case 2:
        a.number = m.float32();
        break;
      case 3:
        a.integer = m.integer();
        break;
      case 4:
        a.string = m.text();
        break;
      case 5:
      case 10:
        a.tensors.push_back(read_tensor(m));
        break;
      case 6:
      case 11:
        a.graphs.push_back(m.bytes());
        break;
      case 7:
        m.add_to(a.numbers);
        break;
      case 8:
        m.add_to(a.integers);
        break;
      case 9:
        a.strings.push_back(m.text());
        break;
      case 14:
      case 15:
        a.types.push_back(m.bytes());
        break;
      case 20:
        if (m.varint() > static_cast<std::uint64_t>(OnnxAttributeType::types))
          m.broken(fmt::format("unknown type {} of an attribute", m.varint()));
        a.type = static_cast<OnnxAttributeType>(m.varint());
        break;
      case 21:
        a.refers_to = m.text();
        break;
      case 22:
      case 23:
        a.sparse_tensors.push_back(m.bytes());
        break;
      default:
        break;
    }
  }
  return a;
}

void read_metadata(const WireMessage& field, OnnxNode& n) {
  std::string_view key, value;
  for (WireMessage m(field.bytes(), field.file()); m.next();) {
    if (m.number() == 1) key = m.text();
    if (m.number() == 2) value = m.text();
  }
  if (key == "pkg.torch.onnx.name_scopes") n.module_scopes = value;
}

OnnxNode read_node(const WireMessage& field) {
  OnnxNode n;
  for (WireMessage m(field.bytes(), field.file()); m.next();) {
    switch (m.number()) {
      case 1:
        n.inputs.push_back(m.text());
        break;
      case 2:
        n.outputs.push_back(m.text());
        break;
      case 3:
        n.name = m.text();
        break;
      case 4:
        n.op_type = m.text();
        break;
      case 5:
        n.attributes.push_back(read_attribute(m));
        break;
      case 7:
        n.domain = m.text();
        break;
      case 8:
        n.overload = m.text();
        break;
      case 9:
        read_metadata(m, n);
        break;
      default:
        break;
    }
  }
  return n;
}

OnnxDimension read_dimension(const WireMessage& field) {
  OnnxDimension d;
  for (WireMessage m(field.bytes(), field.file()); m.next();) {
    if (m.number() == 1) d.size = m.integer();
    if (m.number() == 2) d.symbol = m.text();
  }
  return d;
}

void read_tensor_type(const WireMessage& field, OnnxValue& v) {
  for (WireMessage m(field.bytes(), field.file()); m.next();) {
    if (m.number() == 1) v.elem_type = m.integer32();
    if (m.number() != 2) continue;
    v.shape.emplace();
    for (WireMessage s(m.bytes(), m.file()); s.next();)
      if (s.number() == 1) v.shape->push_back(read_dimension(s));
  }
}

OnnxValue read_value(const WireMessage& field) {
  OnnxValue v;
  for (WireMessage m(field.bytes(), field.file()); m.next();) {
    if (m.number() == 1) v.name = m.text();
    if (m.number() != 2) continue;
    v.type = m.bytes();
    for (WireMessage t(v.type, m.file()); t.next();) {
      switch (t.number()) {
        case 1:
          v.kind = OnnxKind::tensor;
          read_tensor_type(t, v);
          break;
        case 4:
          v.kind = OnnxKind::sequence;
          break;
        case 5:
          v.kind = OnnxKind::map;
          break;
        case 8:
          v.kind = OnnxKind::sparse_tensor;
          read_tensor_type(t, v);
          break;
        case 9:
          v.kind = OnnxKind::optional;
          break;
        default:
          break;
      }
    }
  }
  return v;
}

OnnxOpset read_opset(const WireMessage& field) {
  OnnxOpset o;
  for (WireMessage m(field.bytes(), field.file()); m.next();) {
    if (m.number() == 1) o.domain = m.text();
    if (m.number() == 2) o.version = m.integer();
  }
  return o;
}

}  // namespace

const OnnxAttribute* OnnxNode::find(std::string_view attribute) const {
  const auto at = std::find_if(attributes.begin(), attributes.end(),
                               [&](const OnnxAttribute& a) { return a.name == attribute; });
  return at == attributes.end() ? nullptr : &*at;
}

OnnxGraph read_onnx_graph(ByteRange graph, const WireFile& file) {
  OnnxGraph g;
  for (WireMessage m(graph, file); m.next();) {
    switch (m.number()) {
      case 1:
        g.nodes.push_back(read_node(m));
        break;
      case 2:
        g.name = m.text();
        break;
      case 5:
        g.initializers.push_back(read_tensor(m));
        break;
      case 11:
        g.inputs.push_back(read_value(m));
        break;
      case 12:
        g.outputs.push_back(read_value(m));
        break;
      case 13:
        g.values.push_back(read_value(m));
        break;
      case 15:
        g.sparse_initializers.push_back(m.bytes());
        break;
      default:
        break;
    }
  }
  return g;
}

OnnxModel read_onnx_model(ByteRange bytes, const std::string& file_name) {
  const WireFile file{bytes, printable(file_name)};
  OnnxModel model;
  bool has_version = false, has_graph = false;
  for (WireMessage m(bytes, file); m.next();) {
    switch (m.number()) {
      case 1:
        model.ir_version = m.integer();
        has_version = true;
        break;
      case 2:
        model.producer = m.text();
        break;
      case 3:
        model.producer_version = m.text();
        break;
      case 4:
        model.domain = m.text();
        break;
      case 5:
        model.model_version = m.integer();
        break;
      case 7:
        if (has_graph) m.broken("a second graph");
        has_graph = true;
        model.graph = read_onnx_graph(m.bytes(), file);
        break;
      case 8:
        model.opsets.push_back(read_opset(m));
        break;
      case 20:
        model.has_training = true;
        break;
      case 25:
        model.functions.push_back(m.bytes());
        break;
      default:
        break;
    }
  }
  if (!has_version) fail("{}: not an ONNX model: missing ir_version", file.name);
  if (!has_graph) fail("{}: the ONNX model has no graph (is the file truncated?)", file.name);
  return model;
}

}  // namespace sten
