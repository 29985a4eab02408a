// What ranks have to have in common, or they would train different models.
#pragma once
#include "libsten/comm/communicator.h"
#include "libsten/linalg/dense_library.h"
#include "libsten/train/trainer.h"

namespace sten {

// With all ranks, at the beginning. Error (usage), the same on each, that says what differs: version,
// instruction set, threads, recipe, data or first weights.
void check_agreement(Communicator& ranks, const Trainer& trainer);

// products_of(recipe, before) of rank 0, which all ranks have to take. Error on a rank that does not
// have it.
const DenseLibrary& agreed_products(Communicator& ranks, const Recipe& recipe,
                                    std::string_view before = {});

}  // namespace sten
