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

// Each row of the table's gradient is a sum over the ids that name it, in their order: whichever
// thread computes it, the same.
Outputs backward(const Call& call) {
  Outputs out(2);
  if (!call.wants(0)) return out;
  const Dense& dy = call.in[0].as<Dense>();
  const Given g("embedding.grad", call, 1);
  check_gradient("embedding.grad", dy, g.shape);
  check_dtypes("embedding.grad", "the gradient", dy.dtype(), "the table", g.table.dtype());
  // The places of the ids of row r are places[first[r]] and those after it.
  std::vector<Index> first(g.table.extents[0] + 1), places(g.rows.size());
  for (const Index r : g.rows) ++first[r + 1];
  for (std::size_t r = 1; r < first.size(); ++r) first[r] += first[r - 1];
  std::vector<Index> next(first);
  for (std::size_t i = 0; i < g.rows.size(); ++i) places[next[g.rows[i]]++] = static_cast<Index>(i);
  with_real("embedding.grad", dy.dtype(), [&]<class T>(T) {
    const T* from = dy.values.as<T>().data();
    const Index n = g.n;
    out[0] = write_elements<T>(call.out(), g.table.extents, n, [&](Index begin, Index end, T* to) {
      std::vector<double> sum(n);
      for (Index i = begin; i < end; i += n, to += n) {
        const Index r = i / n, count = first[r + 1] - first[r];
        if (count == 1) {
          std::copy_n(from + places[first[r]] * n, n, to);
          continue;
        }
        std::ranges::fill(sum, 0);
        for (Index p = first[r]; p < first[r + 1]; ++p)
          for (Index c = 0; c < n; ++c) sum[c] += from[places[p] * n + c];
        for (Index c = 0; c < n; ++c) to[c] = static_cast<T>(sum[c]);
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
