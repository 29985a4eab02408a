// All of sten's public headers. What they include in turn is installed beside them, and may change
// without notice; everything else is the library's own.
#pragma once

// Values, shapes, errors and warnings.
#include "libsten/base/array.h"
#include "libsten/base/device.h"
#include "libsten/base/dtype.h"
#include "libsten/base/error.h"
#include "libsten/base/fallback.h"
#include "libsten/base/log.h"
#include "libsten/base/memory_pool.h"
#include "libsten/base/name.h"
#include "libsten/base/parallel.h"
#include "libsten/base/random.h"
#include "libsten/base/shape.h"
#include "libsten/base/spec.h"
#include "libsten/base/version.h"

// Tensors in any layout, and what a layout is.
#include "libsten/tensor/access.h"
#include "libsten/tensor/dense.h"
#include "libsten/tensor/layout.h"
#include "libsten/tensor/mask.h"
#include "libsten/tensor/matrix_view.h"
#include "libsten/tensor/occupancy.h"
#include "libsten/tensor/tensor.h"
#include "libsten/tensor/values.h"

// The layouts.
#include "libsten/layout/bcsr.h"
#include "libsten/layout/bitmask.h"
#include "libsten/layout/compressed.h"
#include "libsten/layout/coo.h"
#include "libsten/layout/ell.h"
#include "libsten/layout/masked.h"
#include "libsten/layout/nm.h"
#include "libsten/layout/nmg.h"
#include "libsten/layout/slots.h"

// The sparsifiers, and what a sparsifier is.
#include "libsten/sparsify/block_magnitude.h"
#include "libsten/sparsify/magnitude.h"
#include "libsten/sparsify/nm_magnitude.h"
#include "libsten/sparsify/nmg_fit.h"
#include "libsten/sparsify/resparsify.h"
#include "libsten/sparsify/same_pattern.h"
#include "libsten/sparsify/scored.h"
#include "libsten/sparsify/sparsifier.h"
#include "libsten/sparsify/streaming.h"

// Tables by name, and the ways between layouts.
#include "libsten/dispatch/attributes.h"
#include "libsten/dispatch/builtin.h"
#include "libsten/dispatch/operators.h"
#include "libsten/dispatch/out_format.h"
#include "libsten/dispatch/registry.h"
#include "libsten/dispatch/route.h"
#include "libsten/dispatch/signature.h"
#include "libsten/dispatch/sparsify.h"
#include "libsten/dispatch/structure.h"

// Operators, products and gradients.
#include "libsten/autograd/parameter.h"
#include "libsten/autograd/tape.h"
#include "libsten/linalg/dense_gemm.h"
#include "libsten/ops/elementwise.h"
#include "libsten/ops/in_place.h"
#include "libsten/ops/operators.h"
#include "libsten/ops/unary.h"
#include "libsten/product/sparse_product.h"

// Models.
#include "libsten/graph/executor.h"
#include "libsten/graph/generation.h"
#include "libsten/graph/graph.h"
#include "libsten/graph/graph_json.h"
#include "libsten/graph/sparsity_builder.h"
#include "libsten/graph/trace.h"
#include "libsten/nn/bert.h"
#include "libsten/nn/gpt.h"
#include "libsten/nn/layers.h"
#include "libsten/nn/mlp.h"
#include "libsten/nn/module.h"
#include "libsten/nn/weights.h"

// Training.
#include "libsten/comm/comm_mpi.h"
#include "libsten/comm/comm_self.h"
#include "libsten/data/batches.h"
#include "libsten/data/examples.h"
#include "libsten/optim/adamw.h"
#include "libsten/optim/gradients.h"
#include "libsten/optim/parameter.h"
#include "libsten/optim/sgd.h"
#include "libsten/optim/slots.h"
#include "libsten/recipe/recipe.h"
#include "libsten/train/sum_over_ranks.h"
#include "libsten/train/trainer.h"

// Files.
#include "libsten/io/checkpoint.h"
#include "libsten/io/checkpoint_writer.h"
#include "libsten/io/mask_file.h"
#include "libsten/io/named_tensors.h"
#include "libsten/io/npy.h"
#include "libsten/io/safetensors.h"
