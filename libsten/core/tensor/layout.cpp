// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/layout.h"

#include <algorithm>

namespace sten::parts_detail {

bool Reader::has(std::string_view key) const {
  return std::any_of(in_.parts.begin(), in_.parts.end(),
                     [&](const Part& p) { return p.name == key; });
}

const Part& Reader::find(std::string_view key) {
  const auto at = std::find_if(in_.parts.begin(), in_.parts.end(),
                               [&](const Part& p) { return p.name == key; });
  if (at == in_.parts.end()) fail("missing part {}", quote(key));
  if (static_cast<unsigned __int128>(checked_size(at->shape)) * bits_of(at->dtype) !=
      8 * at->bytes.size())
    fail("part {} of shape {} {} does not fit {} bytes", quote(key), to_string(at->shape),
         name_of(at->dtype), at->bytes.size());
  seen_.emplace_back(key);
  return *at;
}

const Part& Reader::find(std::string_view key, const Shape& shape) {
  const Part& p = find(key);
  const auto fits = [](Index has, Index needs) { return needs == any_extent || has == needs; };
  if (!std::equal(p.shape.begin(), p.shape.end(), shape.begin(), shape.end(), fits))
    fail("part {} has shape {}, expected {}", quote(key), to_string(p.shape), to_string(shape));
  return p;
}

const Part& Reader::find_vector(std::string_view key) {
  const Part& p = find(key);
  if (p.shape.size() != 1)
    fail("part {} has shape {}, expected one axis", quote(key), to_string(p.shape));
  return p;
}

void Reader::finish() const {
  const Part* decides_dtype = nullptr;
  for (const Part& p : in_.parts) {
    const auto at = std::find(seen_.begin(), seen_.end(), p.name);
    if (at == seen_.end()) fail("unknown part {}", quote(p.name));
    if (p.name == "values" || (!decides_dtype && at == seen_.begin())) decides_dtype = &p;
  }
  if (decides_dtype && decides_dtype->dtype != in_.dtype)
    fail("part {} is {} but the tensor is {}", quote(decides_dtype->name),
         name_of(decides_dtype->dtype), name_of(in_.dtype));
}

void Reader::read(const Part& p, Values& v) {
  if (width_of(p.dtype) == 0)
    fail("part {} is {}, which is smaller than a byte", quote(p.name), name_of(p.dtype));
  v = Values(p.dtype, p.bytes);
}

}  // namespace sten::parts_detail
