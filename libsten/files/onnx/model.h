// SPDX-License-Identifier: Apache-2.0
// The contents of an ONNX file (onnx.proto of ONNX 1.18; other versions by the fields they share
// with it).
//
// All texts and ranges borrow from the file's bytes. Documentation and most metadata are skipped.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/core/base/shape.h"
#include "libsten/files/onnx/wire.h"

namespace sten {

// The field of a TensorProto that has the elements.
enum class OnnxStore : std::uint8_t {
  none,         // of a tensor without elements
  raw_data,     // row-major, little-endian, as in safetensors
  float_data,   // fixed32, also pairs for complex64
  int32_data,   // varints: int32 and narrower types; float16 etc. by bits
  string_data,  // one range per string
  int64_data,   // varints
  double_data,  // fixed64, also pairs for complex128
  uint64_data,  // varints: uint64 and uint32
  external,     // raw data in another file
};

// A range of an external data file.
struct OnnxExternal {
  std::string_view location;  // relative to the model's directory; unchecked
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

// TensorProto. Elements, dims and data_type are not checked against each other.
struct OnnxTensor {
  std::string_view name;
  Shape dims;                  // unchecked: may be negative
  std::int32_t data_type = 0;  // TensorProto.DataType, known or not
  OnnxStore store = OnnxStore::none;
  // Ranges of elements in order; several if the field is repeated, and one per string.
  std::vector<ByteRange> pieces;
  OnnxExternal external;
};

// AttributeProto.AttributeType.
enum class OnnxAttributeType : std::uint8_t {
  undefined,
  number,  // FLOAT
  integer,
  string,
  tensor,
  graph,
  numbers,  // FLOATS
  integers,
  strings,
  tensors,
  graphs,
  sparse_tensor,
  sparse_tensors,
  type,
  types
};

struct OnnxAttribute {
  std::string_view name;
  OnnxAttributeType type = OnnxAttributeType::undefined;  // as stored; undefined in IR version 1
  float number = 0;
  std::int64_t integer = 0;
  std::string_view string;
  std::vector<float> numbers;
  std::vector<std::int64_t> integers;
  std::vector<std::string_view> strings;
  std::vector<OnnxTensor> tensors;  // one, or all of a list
  std::vector<ByteRange> graphs;  // likewise; for read_onnx_graph(), whose caller bounds the depth
  std::vector<ByteRange> sparse_tensors, types;
  std::string_view refers_to;  // in a function: the attribute of the call that it refers to
};

struct OnnxNode {
  std::string_view name;  // often empty
  std::string_view op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;  // an empty name is an omitted one
  std::vector<OnnxAttribute> attributes;
  // From PyTorch's exporter: "['', 'encoder', 'encoder.0', 'encoder.0.query', 'linear_3']"; often
  // "".
  std::string_view module_scopes;

  const OnnxAttribute* find(std::string_view attribute) const;
  // Whether the operator is in ONNX's own domain.
  bool is_own() const { return domain.empty() || domain == "ai.onnx"; }
};

struct OnnxDimension {
  std::optional<std::int64_t> size;  // unchecked: may be negative
  std::string_view symbol;           // "batch"; without size and symbol the extent is unknown
};

enum class OnnxKind : std::uint8_t { unknown, tensor, sequence, map, sparse_tensor, optional };

// ValueInfoProto.
struct OnnxValue {
  std::string_view name;
  OnnxKind kind = OnnxKind::unknown;
  // For dense and sparse tensors.
  std::int32_t elem_type = 0;                       // TensorProto.DataType
  std::optional<std::vector<OnnxDimension>> shape;  // none: unknown rank
  ByteRange type;                                   // TypeProto, for elements of other kinds
};

struct OnnxGraph {
  std::string_view name;
  std::vector<OnnxNode> nodes;                     // in any order
  std::vector<OnnxTensor> initializers;            // names may be missing
  std::vector<ByteRange> sparse_initializers;      // SparseTensorProto
  std::vector<OnnxValue> inputs, outputs, values;  // inputs may include initializers
};

struct OnnxOpset {
  std::string_view domain;  // "" and "ai.onnx" are ONNX's own
  std::int64_t version = 0;
};

struct OnnxModel {
  std::int64_t ir_version = 0, model_version = 0;
  std::string_view producer, producer_version, domain;
  std::vector<OnnxOpset> opsets;
  OnnxGraph graph;
  std::vector<ByteRange> functions;  // FunctionProto
  bool has_training = false;         // TrainingInfoProto, which is skipped
};

// Parses a file; `file_name` is for messages. Checks lengths and numbers as wire.h does, but not
// their meaning. Error (input) for a missing ir_version, not exactly one graph, and a tensor with
// two stores. Time and memory are proportional to the structure: weights are not read.
OnnxModel read_onnx_model(ByteRange file, const std::string& file_name);

// Parses the graph of an attribute. `graph` lies in `file`.
OnnxGraph read_onnx_graph(ByteRange graph, const WireFile& file);

}  // namespace sten
