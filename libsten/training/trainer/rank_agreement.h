// SPDX-License-Identifier: Apache-2.0
// Rank agreement: checks that all ranks train the same model.
#pragma once
#include "libsten/compute/linalg/dense_library.h"
#include "libsten/training/comm/communicator.h"
#include "libsten/training/trainer/trainer.h"

namespace sten {

// Called on all ranks at the start. Error (usage), the same on all ranks, with the difference in
// version, instruction set, threads, recipe, data, or initial weights of the model and of its
// teacher.
void check_agreement(Communicator& ranks, const Trainer& trainer);

// products_of(recipe, before) of rank 0, on all ranks. Error on a rank without this library.
const DenseLibrary& agreed_products(Communicator& ranks, const Recipe& recipe,
                                    std::string_view before = {});

}  // namespace sten
