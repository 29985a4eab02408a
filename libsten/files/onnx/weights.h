// SPDX-License-Identifier: Apache-2.0
// The tensors of an ONNX graph as a checkpoint.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/core/base/dtype.h"
#include "libsten/files/onnx/model.h"
#include "libsten/files/tensors/tensor_use.h"

namespace sten {

struct OnnxWeight {
  const OnnxTensor* tensor = nullptr;
  std::string name;
  DType dtype = DType::F32;
  TensorUse use = TensorUse::other;
  bool in_by_out = false;  // a matrix [in, out]
  // From OnnxModules, if the tensor's own name ("onnx::MatMul_123") does not end in "weight".
  std::string module;
};

struct OnnxWeights {
  std::vector<OnnxWeight> tensors;  // in the file's order, then constants
  std::vector<std::string> notes;   // on skipped tensors
};

// The name of a value without leading slashes.
std::string name_in_checkpoint(std::string_view name);

// Finds the initializers of `graph`, which lies in `file`, and the constants (Constant nodes with a
// `value`) that are weights, by the names of their values. Leading slashes are removed, since no
// name in a checkpoint is an absolute path.
// - A weight is input 1 of a MatMul, Gemm, Conv or ConvTranspose, of rank 2 or more, or a matrix
// that a Transpose makes such an input.
// - A head is found by output_heads().
// - A table is input 0 of a Gather.
// Identity and Cast are transparent. Nodes of subgraphs count, but their initializers have no names
// here. Skips, with a note, sparse tensors and the types STRING, INT4, UINT4 and COMPLEX128, which
// have no dtype. Error (input) for unknown data types, and as all_nodes().
OnnxWeights find_onnx_weights(const OnnxGraph& graph, const WireFile& file);

// The dtype of a TensorProto.DataType. Error (input) for an unknown type, and for STRING, INT4,
// UINT4 and COMPLEX128.
DType onnx_dtype(std::int32_t data_type);

// Decodes the typed fields of a tensor to the bytes of raw_data. Error (input) if the number of
// elements differs from the dims, and for numbers outside of the data type.
std::vector<std::byte> decode_onnx(const OnnxTensor& t, DType dtype);

// The range of the file with the tensor's bytes: raw_data, or contiguous float_data and
// double_data. None for elements that need decoding, and for external data.
std::optional<ByteRange> onnx_bytes_in_place(const OnnxTensor& t);

}  // namespace sten
