#include "libsten/run/stock.h"

#include "libsten/layout/entries.h"

namespace sten {
namespace {

std::optional<Entries> far_fewer_entries(const Tensor& t) {
  return is_far_larger_dense(t) ? entries_of(t) : std::nullopt;
}

}  // namespace

Stock stock_of(const Tensor& t) {
  if (const auto e = far_fewer_entries(t))
    return {e->size(), size_of(e->extents) - e->size() + zeros({{e->size()}, e->values})};
  return {t.stored().count(), zeros(t.to_dense())};
}

Dense elements_stored(const Tensor& t) {
  if (const auto e = far_fewer_entries(t)) return {{e->size()}, e->values};
  return t.to_dense();
}

}  // namespace sten
