// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/storage_counts.h"

#include "libsten/core/layout/entries.h"

namespace sten {
namespace {

std::optional<Entries> much_sparser_entries(const Tensor& t) {
  return is_far_larger_dense(t) ? entries_of(t) : std::nullopt;
}

}  // namespace

StorageCounts storage_counts(const Tensor& t) {
  if (const auto e = much_sparser_entries(t))
    return {e->size(), size_of(e->extents) - e->size() + zeros({{e->size()}, e->values})};
  return {t.stored().count(), zeros(t.to_dense())};
}

Dense elements_stored(const Tensor& t) {
  if (const auto e = much_sparser_entries(t)) return {{e->size()}, e->values};
  return t.to_dense();
}

}  // namespace sten
