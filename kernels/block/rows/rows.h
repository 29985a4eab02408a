// SPDX-License-Identifier: Apache-2.0
// RowFunctions (row_functions.h) over a Grid.
#pragma once
#include "kernels/block/rows/attention.h"
#include "kernels/block/rows/channels.h"
#include "kernels/block/rows/layer_norm.h"
#include "kernels/block/rows/losses.h"
#include "kernels/block/rows/pool.h"
#include "kernels/block/rows/rms_norm.h"
#include "kernels/block/rows/rotary.h"
#include "kernels/block/rows/softmax.h"
#include "kernels/block/rows/squared_error.h"
#include "kernels/block/rows/take_rows.h"

namespace sten::kernels {

template <class Grid>
RowFunctions row_functions() {
  RowFunctions all{};
  all.softmax = SoftmaxOn<Grid>::softmax;
  all.softmax_grad = SoftmaxOn<Grid>::softmax_grad;
  all.layer_norm = LayerNormOn<Grid>::layer_norm;
  all.layer_norm_grad = LayerNormOn<Grid>::layer_norm_grad;
  all.rms_norm = RmsNormOn<Grid>::rms_norm;
  all.rms_norm_grad = RmsNormOn<Grid>::rms_norm_grad;
  all.rotate = RotaryOn<Grid>::rotate;
  all.take_rows = TakeRowsOn<Grid>::take_rows;
  all.sum_rows_by_id = TakeRowsOn<Grid>::sum_rows_by_id;
  all.cross_entropy = LossesOn<Grid>::cross_entropy;
  all.cross_entropy_grad = LossesOn<Grid>::cross_entropy_grad;
  all.kl_divergence = LossesOn<Grid>::kl_divergence;
  all.kl_divergence_grad = LossesOn<Grid>::kl_divergence_grad;
  all.mse = SquaredErrorOn<Grid>::mse;
  all.mse_grad = SquaredErrorOn<Grid>::mse_grad;
  all.split_heads = AttentionOn<Grid>::split_heads;
  all.merge_heads = AttentionOn<Grid>::merge_heads;
  all.attention_weights = AttentionOn<Grid>::attention_weights;
  all.attention_grad = AttentionOn<Grid>::attention_grad;
  all.bias_grad = AttentionOn<Grid>::bias_grad;
  all.channel_moments = ChannelsOn<Grid>::channel_moments;
  all.float_moments = ChannelsOn<Grid>::float_moments;
  all.channel_norm = ChannelsOn<Grid>::channel_norm;
  all.channel_norm_grad = ChannelsOn<Grid>::channel_norm_grad;
  all.pool = PoolsOn<Grid>::pool;
  all.pool_grad = PoolsOn<Grid>::pool_grad;
  return all;
}

}  // namespace sten::kernels
