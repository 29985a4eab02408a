// SPDX-License-Identifier: Apache-2.0
// The choice of the library of dense products for a run.
#include "libsten/training/trainer/products.h"

#include <doctest/doctest.h>

#include "libsten/training/trainer/trainer.h"

using namespace sten;

TEST_CASE("the dense library is the recipe's, else the resumed run's, else the fastest") {
  Recipe r;
  CHECK(&products_of(r) == &fastest_dense_library());
  CHECK(&products_of(r, "mkl 2024") == &fastest_dense_library());
  CHECK(products_of(r, "own loop").name == "own loop");
  for (const DenseLibrary& library : dense_libraries())
    CHECK(&products_of(r, library.name) == &library);
  r.products = "own";
  CHECK(products_of(r, dense_libraries().front().name).name == "own loop");
  r.products = "mkl";
  CHECK_THROWS_WITH_AS(products_of(r), "/products: cannot load mkl", Error);
}

TEST_CASE("a trainer uses the host's dense library and does not change the choice") {
  int products = 0;
  const DenseLibrary& own = *find_dense_library("own");
  const DenseLibrary counting{"counting", [&](auto... arguments) {
                                ++products;
                                own.multiply(arguments...);
                              }};
  const UseDenseLibrary use(counting);
  const Recipe r = read_recipe(STEN_SOURCE_DIR "/recipes/digits-mlp-dense.json", {"steps=1"});
  Trainer trainer(std::make_shared<const Task>(r));
  CHECK(&dense_library() == &counting);
  trainer.step();
  CHECK(products > 0);
  CHECK(&dense_library() == &counting);
}
