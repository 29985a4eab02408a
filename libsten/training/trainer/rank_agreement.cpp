// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/rank_agreement.h"

#include "libsten/core/base/text.h"
#include "libsten/training/comm/together.h"
#include "libsten/training/trainer/checkpoint.h"
#include "libsten/training/trainer/products.h"
#include "libsten/training/trainer/recipe_difference.h"

namespace sten {
namespace {

// For contents that are too long for a message.
void check_same_content(Communicator& ranks, const std::string& what, const std::string& hash) {
  if (const auto d = rank_difference(ranks, hash))
    fail_usage("ranks differ in {}: rank {} differs from rank 0", what, d->rank);
}

void check_same_recipe(Communicator& ranks, const std::string& json) {
  const auto d = rank_difference(ranks, json);
  if (!d) return;
  const auto in = recipe_difference(d->first, "the recipe of rank 0", d->theirs);
  fail_usage("ranks differ in the recipe: {} is {} on rank 0, {} on rank {}", in->key, in->before,
             in->now, d->rank);
}

}  // namespace

void check_agreement(Communicator& ranks, const Trainer& trainer) {
  if (ranks.size() == 1) return;
  const RunMachine here = RunMachine::here();
  check_same(ranks, "version", here.version);
  check_same_recipe(ranks, to_json(trainer.task().recipe()));
  check_same(ranks, "instruction set", here.isa);
  check_same(ranks, "threads", std::to_string(here.threads));
  check_same_content(ranks, "data", trainer.task().content());
  check_same_content(ranks, "first weights", trainer.first_weights());
  check_same_content(ranks, "weights of the teacher", trainer.teacher());
}

const DenseLibrary& agreed_products(Communicator& ranks, const Recipe& recipe,
                                    std::string_view before) {
  if (ranks.size() == 1) return products_of(recipe, before);
  const DenseLibrary* taken = nullptr;
  on_first_rank(ranks, [&] { taken = &products_of(recipe, before); });
  const std::string name = broadcast_text(ranks, taken ? taken->name : "");
  if (!taken) taken = find_dense_library(name);
  if (!taken || taken->name != name)
    fail("dense library {} of rank 0 cannot be loaded", printable(name));
  return *taken;
}

}  // namespace sten
