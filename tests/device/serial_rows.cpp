// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/rows/rows.h"
#include "tests/device/serial_tables.h"

namespace sten::testing {
namespace {

const kernels::RowFunctions row_table = kernels::row_functions<kernels::SerialGrid>();

}  // namespace

kernels::RowFunctions serial_rows() {
  using R = kernels::RowFunctions;
  R all{};
  all.softmax = with_memory<row_table, &R::softmax>();
  all.softmax_grad = with_memory<row_table, &R::softmax_grad>();
  all.layer_norm = with_memory<row_table, &R::layer_norm>();
  all.layer_norm_grad = with_memory<row_table, &R::layer_norm_grad>();
  all.rms_norm = with_memory<row_table, &R::rms_norm>();
  all.rms_norm_grad = with_memory<row_table, &R::rms_norm_grad>();
  all.rotate = with_memory<row_table, &R::rotate>();
  all.take_rows = with_memory<row_table, &R::take_rows>();
  all.sum_rows_by_id = with_memory<row_table, &R::sum_rows_by_id>();
  all.cross_entropy = with_memory<row_table, &R::cross_entropy>();
  all.cross_entropy_grad = with_memory<row_table, &R::cross_entropy_grad>();
  all.kl_divergence = with_memory<row_table, &R::kl_divergence>();
  all.kl_divergence_grad = with_memory<row_table, &R::kl_divergence_grad>();
  all.mse = with_memory<row_table, &R::mse>();
  all.mse_grad = with_memory<row_table, &R::mse_grad>();
  all.split_heads = with_memory<row_table, &R::split_heads>();
  all.merge_heads = with_memory<row_table, &R::merge_heads>();
  all.attention_weights = with_memory<row_table, &R::attention_weights>();
  all.attention_grad = with_memory<row_table, &R::attention_grad>();
  all.bias_grad = with_memory<row_table, &R::bias_grad>();
  all.channel_moments = with_memory<row_table, &R::channel_moments>();
  all.float_moments = with_memory<row_table, &R::float_moments>();
  all.channel_norm = with_memory<row_table, &R::channel_norm>();
  all.channel_norm_grad = with_memory<row_table, &R::channel_norm_grad>();
  all.pool = with_memory<row_table, &R::pool>();
  all.pool_grad = with_memory<row_table, &R::pool_grad>();
  return all;
}

}  // namespace sten::testing
