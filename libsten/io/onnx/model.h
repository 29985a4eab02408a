// What an ONNX file says (onnx.proto of ONNX 1.18; other versions by the fields they share with it).
//
// All texts and ranges borrow from the file's bytes. Documentation and most metadata are left out.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/base/shape.h"
#include "libsten/io/onnx/wire.h"

namespace sten {

// Where the elements of a TensorProto are: the names of its fields.
enum class OnnxStore : std::uint8_t {
  none,         // in no field: of a tensor without elements
  raw_data,     // row-major and little-endian, as in a safetensors file
  float_data,   // fixed32, also the two parts of complex64
  int32_data,   // varints: int32 and everything narrower; float16 and the like by their bits
  string_data,  // one range for each
  int64_data,   // varints
  double_data,  // fixed64, also the two parts of complex128
  uint64_data,  // varints: uint64 and uint32
  external,     // raw, in another file
};

// A range of a file beside the model.
struct OnnxExternal {
  std::string_view location;  // a path, relative to the model's directory; anything at all
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

// TensorProto. Nothing says yet that elements, dims and data_type fit each other.
struct OnnxTensor {
  std::string_view name;
  Shape dims;                  // may be negative
  std::int32_t data_type = 0;  // TensorProto.DataType, known or not
  OnnxStore store = OnnxStore::none;
  // One after the other they are the elements, as packed fields have them. More than one where a
  // field is repeated; strings have one each.
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
  OnnxAttributeType type = OnnxAttributeType::undefined;  // as stored; IR version 1 had none
  float number = 0;
  std::int64_t integer = 0;
  std::string_view string;
  std::vector<float> numbers;
  std::vector<std::int64_t> integers;
  std::vector<std::string_view> strings;
  std::vector<OnnxTensor> tensors;  // the one, or all
  std::vector<ByteRange> graphs;    // likewise: for read_onnx_graph(), whose caller bounds depth
  std::vector<ByteRange> sparse_tensors, types;
  std::string_view refers_to;  // in a function: the attribute of its call that this one is
};

struct OnnxNode {
  std::string_view name;  // often empty
  std::string_view op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;  // an empty one is left out
  std::vector<OnnxAttribute> attributes;
  // Of PyTorch's exporter: "['', 'encoder', 'encoder.0', 'encoder.0.query', 'linear_3']"; often "".
  std::string_view module_scopes;

  const OnnxAttribute* find(std::string_view attribute) const;
  // Whether its operator is ONNX's, of no other domain.
  bool is_own() const { return domain.empty() || domain == "ai.onnx"; }
};

struct OnnxDimension {
  std::optional<std::int64_t> size;  // may be negative
  std::string_view symbol;           // "batch"; both are missing where nothing is known
};

enum class OnnxKind : std::uint8_t { unknown, tensor, sequence, map, sparse_tensor, optional };

// ValueInfoProto.
struct OnnxValue {
  std::string_view name;
  OnnxKind kind = OnnxKind::unknown;
  // Of tensors, sparse ones too.
  std::int32_t elem_type = 0;                       // TensorProto.DataType
  std::optional<std::vector<OnnxDimension>> shape;  // none: not even the rank is known
  ByteRange type;  // TypeProto, for the elements of the other kinds
};

struct OnnxGraph {
  std::string_view name;
  std::vector<OnnxNode> nodes;                     // need not be in the order of their values
  std::vector<OnnxTensor> initializers;            // need not have names of their own
  std::vector<ByteRange> sparse_initializers;      // SparseTensorProto
  std::vector<OnnxValue> inputs, outputs, values;  // inputs: initializers may be among them
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
  bool has_training = false;         // TrainingInfoProto, which is left out
};

// Reads a whole file, which messages call `file_name`. Every length and number is checked, as
// wire.h says; what it all means is not. Error (input) where the file has no ir_version, no graph or
// two, and where a tensor is stored in two ways. Takes time and memory in proportion to the
// structure: weights are not looked at.
OnnxModel read_onnx_model(ByteRange file, const std::string& file_name);

// A graph of an attribute, which lies in `file`.
OnnxGraph read_onnx_graph(ByteRange graph, const WireFile& file);

}  // namespace sten
