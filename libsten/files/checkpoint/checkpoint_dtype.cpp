// SPDX-License-Identifier: Apache-2.0
// Matrices of another dtype than in the file.
#include "libsten/core/tensor/low_floats.h"
#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {
namespace {

bool is_matrix(const CheckpointTensor& t) {
  return t.shape.size() > 1 && (t.dtype == DType::F32 || is_low_float(t.dtype));
}

}  // namespace

std::size_t Checkpoint::set_matrix_dtype(const GgufType* type) {
  std::size_t rounded = 0;
  for (CheckpointTensor& t : tensors_) {
    const bool is_quantized = t.gguf && t.gguf->type->is_quantized();
    if (!is_quantized && !(type && is_matrix(t))) continue;
    const DType from = t.dtype, to = type ? *type->dtype : DType::BF16;
    t.dtype = to;
    if (t.gguf)
      t.gguf->rounded = t.entries.front().dtype = to;
    else if (to != from)
      t.stored_dtype = from;
    rounded += to != from && to != DType::F32;
  }
  return rounded;
}

}  // namespace sten
