// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/f1.h"

#include <doctest/doctest.h>

#include "libsten/training/task/predictions.h"

using namespace sten;

namespace {

// Logits with maxima at these classes; -1: the first class.
Dense logits_of(Shape shape, const std::vector<Index>& best, Index classes) {
  shape.push_back(classes);
  Dense x = Dense::zeros(DType::F32, shape);
  for (std::size_t i = 0; i < best.size(); ++i)
    x.values.mutate<float>()[static_cast<Index>(i) * classes + best[i]] = 1;
  return x;
}
Dense labels_of(Shape shape, const std::vector<std::int64_t>& y) {
  Dense x = Dense::zeros(DType::I64, std::move(shape));
  std::ranges::copy(y, x.values.mutate<std::int64_t>().begin());
  return x;
}

}  // namespace

TEST_CASE("macro F1 averages over the classes that are labelled or predicted") {
  const F1Scorer scorer({"a", "b", "c", "never"});
  CHECK(scorer.kind() == F1Kind::classes);
  // a: 1 of 2 found, and 1 false positive; b: none found; c: only predicted.
  const Dense x = logits_of({5}, {0, 1, 0, 2, 3}, 4),
              y = labels_of({5}, {0, 0, 1, 1, ignored_label});
  const auto f1 = f1_of(scorer.counts(x, y));
  CHECK(f1.value() == doctest::Approx((0.5 + 0 + 0) / 3));
  CHECK(predictions_of(x, y, &scorer).measured().f1 == f1);
  CHECK_FALSE(predictions_of(x, y).measured().f1);
  CHECK_FALSE(f1_of({}).has_value());
}

TEST_CASE("entity F1 counts only whole entities") {
  const std::vector<std::string> tags{"B-P", "I-P", "O", "B-Q", "I-Q"};
  const F1Scorer scorer(tags);
  CHECK(scorer.kind() == F1Kind::entities);
  // As conlleval and seqeval count: an I- tag can start an entity, and the end of a row ends one.
  const auto count = [&](const std::vector<std::int64_t>& y, const std::vector<Index>& got,
                         Index row) {
    const Index n = std::ssize(y);
    const auto c = scorer.counts(logits_of({n / row, row}, got, 5), labels_of({n / row, row}, y));
    REQUIRE(c.size() == 1);
    return std::vector<Index>{c[0].hits, c[0].predicted, c[0].labelled};
  };
  CHECK(count({0, 1, 2, 3}, {0, 1, 2, 3}, 4) == std::vector<Index>{2, 2, 2});
  CHECK(count({0, 1, 2, 3}, {0, 2, 2, 3}, 4) == std::vector<Index>{1, 2, 2});
  CHECK(count({0, 1, 1, 2}, {1, 1, 1, 2}, 4) == std::vector<Index>{1, 1, 1});
  CHECK(count({0, 0, 1, 2}, {0, 1, 1, 2}, 4) == std::vector<Index>{0, 1, 2});
  CHECK(count({0, 1, 4, 4}, {0, 1, 3, 4}, 4) == std::vector<Index>{2, 2, 2});
  CHECK(count({0, 1, 1, 2}, {0, 1, 1, 2}, 2) == std::vector<Index>{2, 2, 2});
  // Positions with the ignored label belong to no entity.
  CHECK(count({0, ignored_label, 1, 2}, {0, 3, 1, 2}, 4) == std::vector<Index>{1, 1, 1});
  CHECK(F1Scorer({"O", "B-x", "other"}).kind() == F1Kind::classes);
  CHECK(F1Scorer({"O", "O"}).kind() == F1Kind::classes);
}
