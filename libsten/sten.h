// SPDX-License-Identifier: Apache-2.0
// All of sten's public headers. What they include in turn is installed beside them, and may change
// without notice; everything else is the library's own.
#pragma once

// Values, shapes, errors and warnings.
#include "libsten/core/base/array.h"
#include "libsten/core/base/device.h"
#include "libsten/core/base/dtype.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/memory_pool.h"
#include "libsten/core/base/name.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/random.h"
#include "libsten/core/base/shape.h"
#include "libsten/core/base/spec.h"
#include "libsten/core/base/version.h"

// Tensors in any layout, and what a layout is.
#include "libsten/core/tensor/access.h"
#include "libsten/core/tensor/dense.h"
#include "libsten/core/tensor/layout.h"
#include "libsten/core/tensor/mask.h"
#include "libsten/core/tensor/matrix_view.h"
#include "libsten/core/tensor/occupancy.h"
#include "libsten/core/tensor/tensor.h"
#include "libsten/core/tensor/values.h"

// The layouts.
#include "libsten/core/layout/bcsr.h"
#include "libsten/core/layout/bitmask.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/layout/coo.h"
#include "libsten/core/layout/ell.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/layout/nm.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/core/layout/slots.h"

// The sparsifiers, and what a sparsifier is.
#include "libsten/core/sparsify/block_magnitude.h"
#include "libsten/core/sparsify/magnitude.h"
#include "libsten/core/sparsify/nm_magnitude.h"
#include "libsten/core/sparsify/nmg_fit.h"
#include "libsten/core/sparsify/resparsify.h"
#include "libsten/core/sparsify/same_pattern.h"
#include "libsten/core/sparsify/scored.h"
#include "libsten/core/sparsify/sparsifier.h"
#include "libsten/core/sparsify/streaming.h"

// Tables by name, and the ways between layouts.
#include "libsten/core/dispatch/attributes.h"
#include "libsten/core/dispatch/load_extension.h"
#include "libsten/core/dispatch/operators.h"
#include "libsten/core/dispatch/out_format.h"
#include "libsten/core/dispatch/signature.h"
#include "libsten/core/dispatch/sparsify.h"
#include "libsten/core/registry/builtin.h"
#include "libsten/core/registry/extension.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/route.h"
#include "libsten/core/registry/structure.h"

// Operators, products and gradients.
#include "libsten/compute/autograd/parameter.h"
#include "libsten/compute/autograd/tape.h"
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/compute/ops/common/operators.h"
#include "libsten/compute/ops/elementwise/elementwise.h"
#include "libsten/compute/ops/elementwise/in_place.h"
#include "libsten/compute/ops/elementwise/unary.h"
#include "libsten/compute/product/sparse_product.h"

// Models.
#include "libsten/model/execution/executor.h"
#include "libsten/model/execution/generation.h"
#include "libsten/model/graph/graph.h"
#include "libsten/model/graph/graph_json.h"
#include "libsten/model/graph/sparsity_builder.h"
#include "libsten/model/graph/trace.h"
#include "libsten/model/nn/bert.h"
#include "libsten/model/nn/gpt.h"
#include "libsten/model/nn/image_layers.h"
#include "libsten/model/nn/layers.h"
#include "libsten/model/nn/mlp.h"
#include "libsten/model/nn/module.h"
#include "libsten/model/nn/weights.h"

// Training.
#include "libsten/data/batches.h"
#include "libsten/data/examples.h"
#include "libsten/training/comm/comm_mpi.h"
#include "libsten/training/comm/comm_self.h"
#include "libsten/training/optim/adamw.h"
#include "libsten/training/optim/gradients.h"
#include "libsten/training/optim/parameter.h"
#include "libsten/training/optim/sgd.h"
#include "libsten/training/optim/slots.h"
#include "libsten/training/recipe/recipe.h"
#include "libsten/training/trainer/sum_over_ranks.h"
#include "libsten/training/trainer/trainer.h"

// Files.
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/checkpoint/checkpoint_writer.h"
#include "libsten/files/checkpoint/mask_file.h"
#include "libsten/files/checkpoint/named_tensors.h"
#include "libsten/files/tensors/npy.h"
#include "libsten/files/tensors/safetensors.h"

// Programs, for tensors in memory.
#include "libsten/programs/tensors/tensor_programs.h"
