// SPDX-License-Identifier: Apache-2.0
// The data that a model is run on.
#pragma once
#include <memory>

#include "libsten/programs/run/run_batches.h"

namespace sten {

// The recipe of options.path, or else the recipe that sten-train left with the model.
Recipe data_recipe(const ModelSource& source, const DataOptions& options);
// The data of a recipe's split, or token_data(), for the model. Error (usage) if the split is empty.
std::unique_ptr<RunData> data_of_recipe(const ModelSource& source, const Recipe& recipe,
                                        const DataOptions& options);
// The data of options.inputs and options.labels.
std::unique_ptr<RunData> data_of_inputs(const ModelSource& source, const DataOptions& options);

}  // namespace sten
