// SPDX-License-Identifier: Apache-2.0
// What graphs of language models share. Functions that add nodes and weights return the name of
// their value.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

std::string add_node(GraphParts& g, std::string name, Name op, std::vector<std::string> inputs,
                     Attributes attributes = {});
std::string add_weight(GraphParts& g, std::string name, Shape shape, Spec init);
Spec normal_init(double deviation);

// x w^T + bias: the weights NAME.weight [out, in] and NAME.bias, from 0.
std::string add_linear(GraphParts& g, const std::string& name, const Shape& shape, Spec init,
                       const std::string& x, bool has_bias = true);
// Rows of NAME.weight by ids.
std::string add_embedding(GraphParts& g, const std::string& name, const Shape& shape, Spec init,
                          const std::string& ids);
// With NAME.weight and NAME.bias of `width` elements.
std::string add_layer_norm(GraphParts& g, const std::string& name, const std::string& x,
                           Index width, double eps);
// Elements [begin, begin + size) of the last axis.
std::string add_slice(GraphParts& g, const std::string& name, const std::string& x, Index begin,
                      Index size);
// The last token of x[sequences, tokens, width].
std::string add_last_token(GraphParts& g, const std::string& name, const std::string& x);
// The outputs of the graph: the logits [..., classes] and, if requested, their loss for the input
// "labels".
void add_logits(GraphParts& g, const std::string& logits, Index classes, bool with_loss);

// Positions from `first`, [tokens]. Error (usage) unless ids is [sequences, tokens].
Dense position_ids(const Tensor& ids, Index first);

}  // namespace sten
