#include <algorithm>

#include "libsten/ops/check.h"
#include "libsten/ops/numbers.h"
#include "libsten/ops/output.h"
#include "libsten/ops/register.h"

namespace sten {
namespace {

struct Given {
  const Dense &table, &ids;
  std::vector<Index> rows;  // of the table, for each id
  Index n = 0;              // columns
  Shape shape;              // of the output

  Given(const char* op, const Call& call, std::size_t first)
      : table(call.in[first].as<Dense>()), ids(call.in[first + 1].as<Dense>()) {
    call.attributes.check(op, {});
    if (table.extents.size() != 2)
      fail_usage("{}: the table is {}, not a matrix", op, to_string(table.extents));
    rows = integers_of(op, "ids", ids);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i] < 0 || rows[i] >= table.extents[0])
        fail_usage("{}: ids{} is {}, but the table is {}", op,
                   place_text(static_cast<Index>(i), ids.extents), rows[i],
                   to_string(table.extents));
    n = table.extents[1];
    shape = ids.extents;
    shape.push_back(n);
  }
};

Outputs forward(const Call& call) {
  const Given g("embedding", call, 0);
  return with_real("embedding", g.table.dtype(), [&]<class T>(T) -> Outputs {
    const T* table = g.table.values.as<T>().data();
    return {write_elements<T>(call.out(), g.shape, g.n, [&](Index begin, Index end, T* to) {
      for (Index i = begin; i < end; i += g.n, to += g.n)
        std::copy_n(table + g.rows[i / g.n] * g.n, g.n, to);
    })};
  });
}

// The ids of each row of the table, in their order.
struct Uses {
  std::vector<Index> first, places;  // of row r: places[first[r]] and those before the next row's

  explicit Uses(const Given& g) : first(g.table.extents[0] + 1), places(g.rows.size()) {
    for (const Index r : g.rows) ++first[r + 1];
    for (std::size_t r = 1; r < first.size(); ++r) first[r] += first[r - 1];
    std::vector<Index> next(first);
    for (std::size_t i = 0; i < g.rows.size(); ++i)
      places[next[g.rows[i]]++] = static_cast<Index>(i);
  }
  Index count(Index row) const { return first[row + 1] - first[row]; }
};

// The sum of a row's gradients, in double where there are several.
template <class T>
void sum_uses(const Uses& uses, Index row, const T* dy, Index n, std::vector<double>& sum, T* to) {
  if (uses.count(row) == 1) {
    std::copy_n(dy + uses.places[uses.first[row]] * n, n, to);
    return;
  }
  sum.assign(n, 0);
  for (Index p = uses.first[row]; p < uses.first[row + 1]; ++p)
    for (Index c = 0; c < n; ++c) sum[c] += dy[uses.places[p] * n + c];
  for (Index c = 0; c < n; ++c) to[c] = static_cast<T>(sum[c]);
}

// Each row of the table's gradient is a sum over the ids that name it, in their order: whichever
// thread computes it, the same.
Outputs backward(const Call& call) {
  Outputs out(2);
  if (!call.wants(0)) return out;
  const Dense& dy = call.in[0].as<Dense>();
  const Given g("embedding.grad", call, 1);
  check_gradient("embedding.grad", dy, g.shape);
  check_dtypes("embedding.grad", "the gradient", dy.dtype(), "the table", g.table.dtype());
  const Uses uses(g);
  with_real("embedding.grad", dy.dtype(), [&]<class T>(T) {
    const T* from = dy.values.as<T>().data();
    const Index n = g.n;
    const Index rows = g.table.extents[0];
    // Most rows of a large table have no gradient: where there is a sum, they are not touched.
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
  all.declare("embedding", {Keeps::inputs});
  add_streamed(all, "embedding", {"dense", "dense"}, 1, forward);
  add_streamed(all, "embedding.grad", {"dense", "dense", "dense"}, 2, backward);
}

}  // namespace sten
