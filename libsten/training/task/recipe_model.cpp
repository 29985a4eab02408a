// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/recipe_model.h"

#include "libsten/model/nn/mlp.h"
#include "libsten/model/nn/resnet.h"

namespace sten {

Graph recipe_model(const ModelRecipe& m) {
  if (m.kind == "resnet")
    return resnet({m.depth, m.classes, m.channels, m.width, m.stem == "cifar"});
  if (m.kind == "wide-resnet")
    return wide_resnet({m.depth, m.width, m.classes, m.channels, m.dropout});
  return mlp(m.sizes, m.activation);
}

BertHead head_of(const DataRecipe& d) {
  return d.kind == "labelled-text"    ? BertHead::sequence
         : d.kind == "labelled-words" ? BertHead::tokens
                                      : BertHead::words;
}

}  // namespace sten
