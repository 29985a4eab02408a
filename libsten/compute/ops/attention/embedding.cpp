// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/attention/embedding.h"

#include <algorithm>

#include "libsten/compute/ops/common/indices.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {

RowsCall::RowsCall(const char* op, bool is_gather, const Call& call, std::size_t first)
    : table(call.in[first].as<Dense>()), ids(call.in[first + 1].as<Dense>()) {
  const Shape& x = table.extents;
  if (is_gather) {
    call.attributes.check(op, {"axis"});
    axis = axis_of(op, call.attributes.integer("axis", 0), x);
  } else {
    call.attributes.check(op, {});
    if (x.size() != 2) fail_usage("{}: the table must be a matrix, got {}", op, to_string(x));
  }
  extent = x[axis];
  for (Index d = 0; d < axis; ++d) outer *= x[d];
  for (Index d = axis + 1; d < std::ssize(x); ++d) n *= x[d];
  shape.assign(x.begin(), x.begin() + axis);
  shape.insert(shape.end(), ids.extents.begin(), ids.extents.end());
  shape.insert(shape.end(), x.begin() + axis + 1, x.end());
  checked_size(shape);
  if (first == 0) return;
  const Dense& dy = call.in[0].as<Dense>();
  check_gradient(op, dy, shape);
  check_dtypes(op, "the gradient", dy.dtype(), "the table", table.dtype());
}

std::vector<Index> named_rows(std::string_view op, bool is_gather, const Shape& table, Index axis,
                              const Dense& ids) {
  std::vector<Index> rows = integers_of(op, "ids", ids);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Index id = rows[i];
    if (is_gather && id < 0) rows[i] += table[axis];
    if (rows[i] < 0 || rows[i] >= table[axis])
      fail_usage("{}: ids{} is {}, but {} is {}", op,
                 index_text(static_cast<Index>(i), ids.extents), id, is_gather ? "x" : "the table",
                 to_string(table));
  }
  return rows;
}

namespace {

struct GatheredRows : RowsCall {
  std::vector<Index> rows;  // per id, at the axis

  GatheredRows(const char* op, bool is_gather, const Call& call, std::size_t first)
      : RowsCall(op, is_gather, call, first),
        rows(named_rows(op, is_gather, table.extents, axis, ids)) {}
  // The row of the table for row i of the output.
  Index source(Index i) const {
    const Index count = std::ssize(rows);
    return outer == 1 ? rows[i] : i / count * extent + rows[i % count];
  }
  Index all_rows() const { return outer * extent; }
};

// Gathers rows of dense elements of any dtype.
Tensor moved(const GatheredRows& g) {
  Dense y{g.shape, Values::uninitialized(g.table.dtype(), size_of(g.shape))};
  if (y.size() == 0) return y;
  with_width(y.values.width(), [&]<class U>(U) {
    const U* x = g.table.values.as<U>().data();
    U* const to = y.values.mutate<U>().data();
    parallel_for(y.size() / g.n, std::max<Index>(1, (Index{1} << 14) / g.n),
                 [&](Index begin, Index end) {
                   for (Index i = begin; i < end; ++i)
                     std::copy_n(x + g.source(i) * g.n, g.n, to + i * g.n);
                 });
  });
  return y;
}

Outputs forward(bool is_gather, const Call& call) {
  const char* op = is_gather ? "gather" : "embedding";
  const GatheredRows g(op, is_gather, call, 0);
  if (is_plain(call.out())) return {moved(g)};
  return with_real(op, g.table.dtype(), [&]<class T>(T) -> Outputs {
    const T* table = g.table.values.as<T>().data();
    return {write_elements<T>(call.out(), g.shape, g.n, [&](Index begin, Index end, T* to) {
      for (Index i = begin; i < end; i += g.n, to += g.n)
        std::copy_n(table + g.source(i / g.n) * g.n, g.n, to);
    })};
  });
}

// For each row of the table, the rows of the output that use it, in order.
struct Uses {
  std::vector<Index> first, offsets;  // row r: offsets[first[r]] up to offsets[first[r + 1]]

  explicit Uses(const GatheredRows& g)
      : first(g.all_rows() + 1), offsets(g.outer * std::ssize(g.rows)) {
    const Index n = std::ssize(offsets);
    for (Index i = 0; i < n; ++i) ++first[g.source(i) + 1];
    for (std::size_t r = 1; r < first.size(); ++r) first[r] += first[r - 1];
    std::vector<Index> next(first);
    for (Index i = 0; i < n; ++i) offsets[next[g.source(i)]++] = i;
  }
  Index count(Index row) const { return first[row + 1] - first[row]; }
};

// The sum of a row's gradients; in double if there are several.
template <class T>
void sum_uses(const Uses& uses, Index row, const T* dy, Index n, std::vector<double>& sum, T* to) {
  if (uses.count(row) == 1) {
    std::copy_n(dy + uses.offsets[uses.first[row]] * n, n, to);
    return;
  }
  sum.assign(n, 0);
  for (Index p = uses.first[row]; p < uses.first[row + 1]; ++p)
    for (Index c = 0; c < n; ++c) sum[c] += dy[uses.offsets[p] * n + c];
  for (Index c = 0; c < n; ++c) to[c] = static_cast<T>(sum[c]);
}

// Each row of the table's gradient is a sum over the ids that select it, in order, independent of
// threads.
Outputs backward(bool is_gather, const Call& call) {
  const char* op = is_gather ? "gather.grad" : "embedding.grad";
  Outputs out(2);
  if (!call.wants(0)) return out;
  const Dense& dy = call.in[0].as<Dense>();
  const GatheredRows g(op, is_gather, call, 1);
  const Uses uses(g);
  with_real(op, dy.dtype(), [&]<class T>(T) {
    const T* from = dy.values.as<T>().data();
    const Index n = g.n;
    const Index rows = g.all_rows();
    // Most rows of a large table have no gradient: adds to the sum only the others.
    const auto add_rows = [&](Values& v) {
      T* const to = v.mutate<T>().data();
      parallel_for(rows, 64, [&](Index begin, Index end) {
        std::vector<double> sum;
        std::vector<T> row(n);
        for (Index r = begin; r < end; ++r) {
          if (uses.count(r) == 0) continue;
          sum_uses(uses, r, from, n, sum, row.data());
          for (Index c = 0; c < n; ++c) to[r * n + c] += row[c];
        }
      });
    };
    if (is_plain(call.out(0))) out[0] = call.add_to_sum(0, add_rows);
    if (out[0]) return;
    out[0] = write_elements<T>(call.out(), g.table.extents, n, [&](Index begin, Index end, T* to) {
      std::vector<double> sum;
      for (Index i = begin; i < end; i += n, to += n) {
        if (uses.count(i / n) == 0)
          std::fill_n(to, n, T{0});
        else
          sum_uses(uses, i / n, from, n, sum, to);
      }
    });
  });
  return out;
}

}  // namespace

void add_embedding(Operators& all) {
  for (const bool is_gather : {false, true}) {
    const Name op(is_gather ? "gather" : "embedding");
    all.declare(op, {SavedForBackward::inputs});
    add_streamed(all, op, {"dense", "dense"}, 1,
                 [=](const Call& call) { return forward(is_gather, call); });
    add_streamed(all, is_gather ? "gather.grad" : "embedding.grad", {"dense", "dense", "dense"}, 2,
                 [=](const Call& call) { return backward(is_gather, call); });
  }
}

}  // namespace sten
