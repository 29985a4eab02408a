// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/convert/convert_tensor.h"

#include "libsten/core/base/fallback.h"
#include "libsten/core/registry/structure.h"
#include "libsten/programs/measure/measure.h"

namespace sten {
namespace {

// Converts with all stored positions, along lossless edges if possible.
std::optional<Converted> try_convert(const Tensor& from, const Spec& to) {
  try {
    Route route;
    Tensor t = convert(from, to, &route);
    return Converted{std::move(t), std::nullopt, "", std::move(route)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Tensor> try_pack(const Dense& x, const Mask& keep, const Spec& to) {
  try {
    return registry().pack(x, keep, to);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// "[5, 8]" of a row-major offset.
std::string position(const Shape& shape, Index i) {
  Shape at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; i /= shape[d]) at[d] = i % shape[d];
  return to_string(at);
}

std::string fit_of(const Conversion& request) {
  const std::string_view fit = registry().sparsifier(*request.sparsifier).fit_name();
  return fit.empty() ? request.sparsifier->name() : std::string(fit);
}

// Converts to a structured layout on a device. The device chooses positions and cannot pack given
// ones, so the CPU packs if that is lossless.
Converted convert_on_device(const Tensor& from, const Dense& x, const Conversion& request) {
  const Device here = x.device();
  const bool ranked = is_prunable(x.dtype()) && !first_not_finite(x);
  Mask keep;
  std::optional<Tensor> t;
  if (ranked) t = registry().prune(x, *request.sparsifier, request.to, {}, &keep);
  if (!t || zeros(Dense::pack(x, keep)) == zeros(x)) {
    if (t)
      report_fallback(fmt::format("{} on {}, of tensors that it holds: not implemented; on the CPU",
                                  request.to.str(), name_of(here)));
    Converted c = convert_tensor(from.to(Device::cpu), request);
    c.tensor = c.tensor.to(here);
    if (c.kept) c.kept = c.kept->to(here);
    return c;
  }
  if (request.lossless) convert_tensor(from.to(Device::cpu), request);  // the error names the loss
  Route route{{std::string(from.layout()), request.to.name()},
              "pruned, as it does not hold all of it"};
  return {*std::move(t), std::move(keep), fit_of(request), std::move(route)};
}

}  // namespace

Conversion conversion_to(const Spec& layout, bool lossless) {
  if (!is_structure(layout)) return {registry().canonical(layout), std::nullopt, lossless};
  return {registry().canonical(layout_alone(layout)), own_sparsifier(layout), lossless};
}

Converted convert_tensor(const Tensor& from, const Conversion& request) {
  // Stored zeros are kept if they fit the layout, and dropped otherwise.
  const bool tries =
      from.device() == Device::cpu || !request.sparsifier || from.spec() == request.to;
  if (auto c = tries ? try_convert(from, request.to) : std::nullopt) return *std::move(c);
  const Dense x = from.to_dense();
  if (x.device() != Device::cpu && request.sparsifier) return convert_on_device(from, x, request);
  Mask nonzero = value_mask(x);
  Route route{{std::string(from.layout())}, ""};
  if (!from.is<Dense>()) route.layouts.push_back("dense");
  route.layouts.push_back(request.to.name());
  if (auto t = try_pack(x, nonzero, request.to)) {
    route.reason = "nonzeros are kept, stored zeros are not";
    return {*t, std::move(nonzero), "", std::move(route)};
  }
  if (!request.sparsifier) {
    registry().pack(x, nonzero, request.to);  // the error says why
    fail("{} holds the tensor only in a second conversion", request.to.str());
  }
  if (const auto bad = first_not_finite(x))
    fail("element {} is not finite and cannot be ranked", position(x.extents, *bad));
  Mask keep;
  Tensor t = registry().prune(x, *request.sparsifier, request.to, {}, &keep);
  if (request.lossless)
    for (Index i = 0; i < x.size(); ++i)
      if (nonzero[i] && !keep[i])
        fail_check("{} would drop the nonzero at {}", request.to.str(), position(x.extents, i));
  route.reason = "pruned, as it does not hold all of it";
  return {std::move(t), std::move(keep), fit_of(request), std::move(route)};
}

}  // namespace sten
