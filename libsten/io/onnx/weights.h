// The tensors of an ONNX graph, as a checkpoint lists them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/base/dtype.h"
#include "libsten/io/onnx/model.h"
#include "libsten/io/tensor_use.h"

namespace sten {

struct OnnxWeight {
  const OnnxTensor* tensor = nullptr;
  std::string name;
  DType dtype = DType::F32;
  TensorUse use = TensorUse::other;
  bool in_by_out = false;  // a matrix [in, out]
  // Of OnnxModules, where the tensor's own name, such as "onnx::MatMul_123", does not end in
  // "weight".
  std::string module;
};

struct OnnxWeights {
  std::vector<OnnxWeight> tensors;  // in the file's order; constants follow
  std::vector<std::string> notes;   // what was left out
};

// The name of a value without its leading slashes.
std::string name_in_checkpoint(std::string_view name);

// The initializers of `graph`, which lies in `file`, and those constants (Constant nodes with a
// `value`) that are weights, by the names of their values; a name's leading slashes are left out,
// since no name in a checkpoint is an absolute path. A weight is what a MatMul, Gemm, Conv or
// ConvTranspose of ONNX has as input 1, with a rank of 2 or more, or a matrix that a Transpose turns
// for it; a head is one that output_heads() finds; a table is input 0 of a Gather. Identity and Cast
// change nothing of that. Nodes of subgraphs count; initializers within them stay unnamed. Tensors
// of STRING, INT4, UINT4 and COMPLEX128, which have no dtype here, and sparse ones are left out,
// which a note says. Error (input) for data types that do not exist, and as all_nodes() says.
OnnxWeights find_onnx_weights(const OnnxGraph& graph, const WireFile& file);

// Of a TensorProto.DataType. Error (input) for a number that is none, and for a type without a dtype
// here: STRING, INT4, UINT4 and COMPLEX128.
DType onnx_dtype(std::int32_t data_type);

// The elements of a tensor that is stored in typed fields, as raw_data would have them. Error (input)
// where they are not as many as the dims say, or where a number does not fit the data type.
std::vector<std::byte> decode_onnx(const OnnxTensor& t, DType dtype);

// The range of the file that has these very bytes: of raw_data, and of float_data and double_data in
// one piece. None for all that has to be decoded, and for external data.
std::optional<ByteRange> onnx_bytes_in_place(const OnnxTensor& t);

}  // namespace sten
