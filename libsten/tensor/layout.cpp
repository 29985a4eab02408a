#include "libsten/tensor/layout.h"

#include <algorithm>

namespace sten::parts_detail {

const Part& Reader::find(std::string_view key) {
  const auto at = std::find_if(in_.parts.begin(), in_.parts.end(),
                               [&](const Part& p) { return p.name == key; });
  if (at == in_.parts.end()) fail("part {} is missing", quoted(key));
  const bool decides_dtype =
      key == "values" || (&*at == &in_.parts.front() &&
                          std::none_of(in_.parts.begin(), in_.parts.end(),
                                       [](const Part& p) { return p.name == "values"; }));
  if (decides_dtype && at->dtype != in_.dtype)
    fail("part {} is {}, the tensor {}", quoted(key), name_of(at->dtype), name_of(in_.dtype));
  seen_.emplace_back(key);
  return *at;
}

void Reader::operator()(std::string_view key, Values& v) {
  const Part& p = find(key);
  if (width_of(p.dtype) == 0)
    fail("part {} is {}, whose elements have no address", quoted(key), name_of(p.dtype));
  v = Values(p.dtype, p.bytes);
}

void Reader::expect_shape(const Part& p, const Shape& shape) {
  if (p.shape != shape)
    fail("part {} has shape {}, the layout needs {}", quoted(p.name), to_string(p.shape),
         to_string(shape));
}

void Reader::finish() const {
  for (const Part& p : in_.parts)
    if (std::find(seen_.begin(), seen_.end(), p.name) == seen_.end())
      fail("the layout has no part {}", quoted(p.name));
}

}  // namespace sten::parts_detail
