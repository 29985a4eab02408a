// SPDX-License-Identifier: Apache-2.0
// Products with rows of tokens over grids, as on a GPU.
#include <doctest/doctest.h>

#include <numeric>

#include "kernels/block/gemm/gemm.h"
#include "kernels/block/gemm/plain_gemm.h"
#include "tests/kernels/product_case.h"
#include "tests/support/checked_device.h"
#include "tests/support/laws.h"

using namespace sten;
using namespace sten::testing;
using kernels::GemmFunctions;

namespace {

const GemmFunctions serial_gemm_table =
                        kernels::gemm_functions<kernels::SerialGrid>(kernels::plain_dense_product),
                    checked_gemm_table =
                        kernels::gemm_functions<CheckedDevice>(kernels::plain_dense_product);

// A sparse matrix: stored positions and their slots.
struct ListsCase {
  Index rows, cols, tokens;
  std::vector<float> values, dense;
  std::vector<std::int64_t> slots;  // per element, or -1
  std::function<void(const GemmFunctions&, bool, kernels::SlabListsRoom)> make_lists;
  std::string text;

  Index stored() const { return std::ssize(values); }
};

ListsCase csr_case(Dice& dice, Index rows, Index cols, Index tokens, double density) {
  ListsCase x{rows, cols, tokens, {}, std::vector<float>(rows * cols), {}, {}, "csr"};
  x.slots.assign(rows * cols, -1);
  auto ptr = std::make_shared<std::vector<std::int64_t>>(1);
  auto columns = std::make_shared<std::vector<std::int32_t>>();
  for (Index r = 0; r < rows; ++r) {
    const bool is_empty = dice.below(8) == 0;
    for (Index c = 0; c < cols; ++c) {
      if (is_empty || dice.below(1000) >= static_cast<Index>(density * 1000)) continue;
      x.slots[r * cols + c] = x.stored();
      x.values.push_back(static_cast<float>(dice.normal()));
      x.dense[r * cols + c] = x.values.back();
      columns->push_back(static_cast<std::int32_t>(c));
    }
    ptr->push_back(x.stored());
  }
  x.make_lists = [=](const GemmFunctions& by, bool by_column, kernels::SlabListsRoom room) {
    by.csr_lists({rows, cols, ptr->data(), columns->data()}, by_column, room, nullptr);
  };
  x.text += fmt::format(" {} x {}, {} tokens, {} values", rows, cols, tokens, x.stored());
  return x;
}

ListsCase nmg_case(Dice& dice, ProductFormat f, Index rows, Index cols, Index tokens) {
  auto a = std::make_shared<Nmg>(
      NmgFit{f.n, f.m, f.g, 0, {}, FitMethod::greedy}.fit(normals(dice, {rows, cols})));
  ListsCase x{rows, cols, tokens, {}, floats(a->to_dense()), {}, {}, "nmg"};
  x.slots.assign(rows * cols, -1);
  const auto values = a->values.as<float>();
  x.values.assign(values.begin(), values.end());
  const std::vector<Index> offsets = a->offsets();
  for (Index s = 0; s < x.stored(); ++s)
    if (offsets[s] >= 0) x.slots[offsets[s]] = s;
  x.make_lists = [=](const GemmFunctions& by, bool by_column, kernels::SlabListsRoom room) {
    const kernels::NmgFormat format = PatternTable::get(f.n, f.m)->format(f.g);
    by.nmg_lists({rows, cols, format, a->index.bytes().data()}, by_column, room, nullptr);
  };
  x.text += fmt::format(" {}:{}:{} {} x {}, {} tokens", f.n, f.m, f.g, rows, cols, tokens);
  return x;
}

// The lists that `by` makes.
struct MadeLists {
  std::vector<std::int64_t> starts;
  std::vector<std::uint8_t> at;
  std::vector<std::int32_t> slots;
  kernels::SlabLists view;

  MadeLists(const GemmFunctions& by, const ListsCase& x, bool by_column) {
    view.lists = by_column ? x.cols : x.rows;
    view.width = by_column ? x.rows : x.cols;
    starts.assign(view.slabs() * view.lists + 1, -1);
    at.assign(x.stored() + 1, 0xcd);
    slots.assign(x.stored() + 1, -1);
    x.make_lists(by, by_column, {starts.data(), at.data(), slots.data()});
    view.starts = starts.data(), view.at = at.data(), view.slots = slots.data();
  }
};

std::vector<float> normal_floats(Dice& dice, Index n) {
  std::vector<float> all(n);
  for (float& v : all) v = static_cast<float>(dice.normal());
  return all;
}

// x[a, b] as [b, a].
std::vector<float> transposed(const std::vector<float>& x, Index a, Index b) {
  std::vector<float> y(x.size());
  for (Index i = 0; i < a; ++i)
    for (Index j = 0; j < b; ++j) y[j * a + i] = x[i * b + j];
  return y;
}

// The sums in the order that gemm_functions.h states.
std::vector<float> product_in_order(const ListsCase& x, bool by_column,
                                    const std::vector<float>& in) {
  const Index lists = by_column ? x.cols : x.rows, width = by_column ? x.rows : x.cols;
  std::vector<float> y(x.tokens * lists);
  for (Index t = 0; t < x.tokens; ++t)
    for (Index i = 0; i < lists; ++i) {
      float sum = 0;
      for (Index j = 0; j < width; ++j) {
        const Index place = by_column ? j * x.cols + i : i * x.cols + j;
        if (x.slots[place] >= 0) sum = std::fmaf(x.dense[place], in[t * width + j], sum);
      }
      y[t * lists + i] = sum;
    }
  return y;
}

std::vector<float> product_by_lists(const GemmFunctions& by, const ListsCase& x,
                                    const MadeLists& made, const std::vector<float>& in,
                                    const float* bias, bool by_features) {
  std::vector<float> y(x.tokens * made.view.lists + 1, untouched);
  const auto from = by_features ? transposed(in, x.tokens, made.view.width) : in;
  by.list_product(made.view, x.values.data(), x.stored(),
                  {x.tokens, by_features, from.data(), bias, y.data()}, nullptr);
  CHECK(y.back() == untouched);
  y.pop_back();
  return by_features ? transposed(y, made.view.lists, x.tokens) : y;
}

void check_samples(const GemmFunctions& by, Dice& dice, const ListsCase& x) {
  const MadeLists made(by, x, false);
  const auto dy = normal_floats(dice, x.tokens * x.rows);
  const auto in = normal_floats(dice, x.tokens * x.cols);
  // 0 for slots without an element.
  std::vector<double> sums(x.stored()), sizes(x.stored());
  for (Index place = 0; place < x.rows * x.cols; ++place) {
    if (x.slots[place] < 0) continue;
    double sum = 0, size = 0;
    for (Index t = 0; t < x.tokens; ++t) {
      const double term =
          static_cast<double>(dy[t * x.rows + place / x.cols]) * in[t * x.cols + place % x.cols];
      sum += term, size += std::abs(term);
    }
    sums[x.slots[place]] = sum, sizes[x.slots[place]] = size;
  }
  for (const bool by_features : {false, true}) {
    CAPTURE(by_features);
    const auto dy_as = by_features ? transposed(dy, x.tokens, x.rows) : dy;
    const auto in_as = by_features ? transposed(in, x.tokens, x.cols) : in;
    std::vector<float> grad(x.stored() + 1, untouched);
    kernels::SampleOperands o{x.tokens,     by_features, dy_as.data(),
                              in_as.data(), grad.data(), false};
    by.list_samples(made.view, x.stored(), o, nullptr);
    std::vector<float> twice = grad;
    o.grad = twice.data(), o.adds = true;
    by.list_samples(made.view, x.stored(), o, nullptr);
    CHECK(grad.back() == untouched);
    CHECK(twice.back() == untouched);
    Index wrong = 0;
    for (Index s = 0; s < x.stored(); ++s) {
      wrong += twice[s] != 2 * grad[s];
      wrong += !(std::abs(grad[s] - sums[s]) <= std::ldexp(sizes[s], -20) + 1e-30);
    }
    CHECK(wrong == 0);
  }
}

void check_lists(const GemmFunctions& by, Dice& dice, const ListsCase& x) {
  CAPTURE(x.text);
  for (const bool by_column : {false, true}) {
    const MadeLists made(by, x, by_column);
    const Index lists = made.view.lists;
    const auto in = normal_floats(dice, x.tokens * made.view.width);
    const auto bias = normal_floats(dice, lists);
    const std::vector<float> expected = product_in_order(x, by_column, in);
    std::vector<float> with_bias = expected;
    for (Index i = 0; i < std::ssize(with_bias); ++i) with_bias[i] += bias[i % lists];
    for (const bool by_features : {false, true}) {
      CAPTURE(by_features);
      CHECK(is_same(product_by_lists(by, x, made, in, nullptr, by_features), expected));
      CHECK(is_same(product_by_lists(by, x, made, in, bias.data(), by_features), with_bias));
    }
  }
  check_samples(by, dice, x);
}

void check_some_lists(const GemmFunctions& by, Dice& dice, Index most_rows, Index most_cols,
                      int rounds) {
  const std::vector<Index> tokens{0, 1, 2, 3, 31, 127, 128, 129, 260};
  const auto some = [&](Index most) { return 1 + dice.below(most); };
  for (int round = 0; round < rounds; ++round) {
    check_lists(by, dice,
                csr_case(dice, some(most_rows), some(most_cols), dice.one_of(tokens),
                         0.01 * static_cast<double>(dice.below(100))));
    const ProductFormat f = dice.one_of(product_formats());
    check_lists(by, dice, nmg_case(dice, f, some(most_rows), some(most_cols), dice.one_of(tokens)));
  }
}

}  // namespace

TEST_CASE("block kernels multiply tokens by csr and n:m:g and compute gradients of the values") {
  Dice dice(1);
  check_some_lists(serial_gemm_table, dice, 200, 300, shapes_to_try(6));
}

TEST_CASE("sparse block products support more tokens than a segment and more lists than a block") {
  Dice dice(2);
  check_lists(serial_gemm_table, dice, csr_case(dice, 20, 150, 2100, 0.2));
  check_lists(serial_gemm_table, dice, nmg_case(dice, {1, 4, 8}, 300, 40, 3));
}

TEST_CASE("sparse block products support empty matrices, no tokens and no stored values") {
  Dice dice(3);
  for (const auto& [rows, cols] : {std::pair<Index, Index>{0, 5}, {5, 0}, {0, 0}})
    for (const Index tokens : {0, 1, 3})
      check_lists(serial_gemm_table, dice, csr_case(dice, rows, cols, tokens, 1));
  check_lists(serial_gemm_table, dice, csr_case(dice, 9, 130, 5, 0));
}

TEST_CASE("infinity in a sparse block product affects only rows that store its column") {
  Dice dice(4);
  const ListsCase x = csr_case(dice, 40, 50, 2, 0.3);
  const MadeLists made(serial_gemm_table, x, false);
  auto in = normal_floats(dice, x.tokens * x.cols);
  in[7] = std::numeric_limits<float>::infinity();
  const auto y = product_by_lists(serial_gemm_table, x, made, in, nullptr, false);
  for (Index r = 0; r < x.rows; ++r) {
    CHECK(std::isfinite(y[r]) == (x.slots[r * x.cols + 7] < 0));
    CHECK(std::isfinite(y[x.rows + r]));
  }
}

TEST_CASE("sparse block products do not depend on the order of threads") {
  Dice dice(5);
  CheckedDevice::reset(1);
  check_some_lists(checked_gemm_table, dice, 140, 140, 3);
  CHECK(CheckedDevice::reports() == std::vector<std::string>{});
}

TEST_CASE("the number of lists per warp keeps all processors busy") {
  using K = kernels::ListProductKernel;
  CHECK(K::lists_of_warp(3072, 4096, 132) == 16);
  CHECK(K::lists_of_warp(768, 512, 132) < 8);
  CHECK(K::lists_of_warp(768, 1, 132) == 1);
}
