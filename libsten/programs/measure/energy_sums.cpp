// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/energy_sums.h"

#include <cmath>
#include <cstring>

#include "libsten/core/base/error.h"
#include "libsten/core/registry/structure.h"

namespace sten {
namespace {

// Whether a kept value differs from the original's at its position.
bool values_differ(const Dense& x, const Dense& original, const Mask& kept) {
  if (x.dtype() != original.dtype()) return true;
  const int w = x.values.width();
  const std::byte *a = x.values.bytes().data(), *b = original.values.bytes().data();
  for (Index i = 0; i < x.size(); ++i)
    if (kept[i] && std::memcmp(a + i * w, b + i * w, w) != 0) return true;
  return false;
}

// Entries take several times 8 bytes per position, and are sorted: for more entries than this, the
// dense form is faster and hardly larger.
bool is_measured_by_entries(const Tensor& t) {
  return is_far_larger_dense(t) && t.values() && t.values()->size() < size_of(t.shape()) / 32;
}

// The elements at the given offsets.
Dense elements_at(const Dense& x, const std::vector<Index>& at) {
  Dense out = Dense::zeros(x.dtype(), {std::ssize(at)});
  for (Index k = 0; k < std::ssize(at); ++k) out.values.put(k, x.values, at[k]);
  return out;
}

}  // namespace

void Sums::add(const Sums& s) {
  add_to(elements, s.elements);
  add_to(nnz, s.nnz);
  add_to(zeros, s.zeros);
  add_to(bytes, s.bytes);
  // A layout that cannot hold every tensor has no sum.
  for (std::size_t l = 0; l < as.size(); ++l) {
    if (as[l] && s.as[l])
      add_to(*as[l], *s.as[l]);
    else
      as[l].reset();
  }
  original.all += s.original.all;
  original.kept += s.original.kept;
  l1 += s.l1;
  changed |= s.changed;
}

Weights::Weights(const Tensor& t) {
  if (is_measured_by_entries(t)) entries = entries_of(t);
  if (!entries) {
    dense = t.to_dense();
    nonzero = Positions::of(value_mask(dense));
    stored = Positions::of(t.stored());
    return;
  }
  const Mask values = value_mask(elements());
  std::vector<Index> at;
  for (Index k = 0; k < entries->size(); ++k)
    if (values[k]) at.push_back(entries->at[k]);
  nonzero = Positions::listed(entries->extents, std::move(at));
  stored = Positions::listed(entries->extents, entries->at);
}

Sums measure(const CheckpointTensor& info, const Tensor& t, const Weights& w,
             const std::vector<Pattern>& held, Device device) {
  Sums s;
  s.elements = w.nonzero.size();
  // Layouts without positions do not count zeros as kept.
  s.nnz = info.is_sparse() ? w.stored.count() : w.nonzero.count();
  s.zeros = w.entries || device == Device::cpu ? s.elements - w.nonzero.count()
                                               : zeros(w.dense.to(device));
  s.bytes = static_cast<Index>(info.bytes());
  const auto layouts = registry().layouts();
  s.as = layout_bytes(Occupancy(width_of(info.dtype), w.stored), held);
  // The tensor's own n:m may be none of the common ones.
  for (std::size_t l = 0; l < s.as.size(); ++l)
    if (t.has_fillers() && t.layout() == layouts[l].name) s.as[l] = s.bytes;
  return s;
}

Index zeros_of(double x, Index n) {
  const double zeros = x * static_cast<double>(n);
  return zeros < 0x1p63 ? std::llround(zeros) : n;
}

Index zeros_asked(double x, const Sums& s, const std::vector<Spec>& structures) {
  const Index asked = zeros_of(x, s.elements);
  constexpr double rounding = 1e-9;  // of 1 - n/m
  for (const Spec& structure : structures)
    if (sparsity_of(own_sparsifier(structure)).value_or(0) >= x - rounding)
      return std::min(asked, s.zeros);
  return asked;
}

void compare(Sums& s, const Checkpoint& in, const Checkpoint& against, const CheckpointTensor& t,
             const Tensor& tensor, const Weights& w, Device device) {
  const CheckpointTensor* o = against.find(t.name);
  if (!o) fail("{}: tensor {} not found", against.name(), quote(t.name));
  if (o->shape != t.shape)
    fail("{}: {} has shape {}, but in {} shape {}", against.name(), quote(t.name),
         to_string(o->shape), in.name(), to_string(t.shape));
  if (!is_prunable(o->dtype))
    fail("{}: {}: expected a dtype with magnitudes, got {}", against.name(), quote(t.name),
         name_of(o->dtype));
  const bool by_value = tensor.is<Dense>() || tensor.has_fillers();
  const Positions& kept = by_value ? w.nonzero : w.stored;
  const Tensor reference = against.load(*o);
  std::optional<Entries> entries;
  if (w.entries && is_far_larger_dense(reference)) entries = entries_of(reference);
  const Dense original = entries ? Dense{{entries->size()}, entries->values} : reference.to_dense();
  const Dense summed = w.entries ? original : original.to(device);
  if (const auto bad = first_not_finite(summed))
    fail("{}: {}: element {} is not finite", against.name(), quote(t.name),
         entries ? entries->at[*bad] : *bad);
  if (w.entries) {
    const Dense then = entries ? values_at(*entries, kept.at) : elements_at(original, kept.at);
    const Dense now = values_at(*w.entries, kept.at);
    s.original.all = magnitudes(summed, Mask::none(summed.extents)).all;
    s.original.kept = magnitudes(then, Mask::none(then.extents)).all;
    s.l1 = magnitudes(now, Mask::none(now.extents)).all;
    s.changed = values_differ(now, then, Mask::all(now.extents));
  } else {
    const Mask positions = kept.mask.to(device);
    s.original = magnitudes(summed, positions);
    s.l1 = magnitudes(w.dense.to(device), positions).kept;
    s.changed = values_differ(w.dense, original, kept.mask);
  }
  against.drop(*o);
}

}  // namespace sten
