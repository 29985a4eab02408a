// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/dispatch/sparsify.h"

#include "libsten/core/base/fallback.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/route.h"
#include "libsten/core/sparsify/resparsify.h"
#include "libsten/core/sparsify/streaming.h"

namespace sten {
namespace {

// The spec of an implementation's layout, with the dims of `like`.
Spec spec_of(const std::string& layout, const Spec& like) {
  Spec s(layout);
  if (like.has("dims") && registry().has_key(layout, "dims"))
    s.set("dims", std::string(like.word("dims", "")));
  return s;
}

// The plan with this implementation, without text; no value if it does not serve the layouts.
std::optional<SparsifyPlan> plan_with(std::shared_ptr<const SparsifierImplementation> run,
                                      const Sparsifier& s, const Spec& from, const Spec& to) {
  if (run->in == Dense::name) return std::nullopt;
  const Registry& r = registry();
  const auto reached = [&](const std::string& layout, const Spec& wanted) -> std::optional<Spec> {
    if (wanted.is(layout)) return wanted;
    if (r.needs_parameters(layout)) return std::nullopt;
    return spec_of(layout, from);
  };
  const auto in = reached(run->in, from);
  if (!in) return std::nullopt;
  const Route to_input = find_route(r, from, *in);
  if (to_input.through_dense()) return std::nullopt;
  auto out = reached(run->out, to);
  // The dims of the result may have to change.
  if (out && !run->serves(s, *in, *out) && !r.needs_parameters(run->out))
    out = spec_of(run->out, *in);
  if (!out || !run->serves(s, *in, *out)) return std::nullopt;
  SparsifyPlan plan{{DispatchKind::converted},
                    *in,
                    *out,
                    to_input.cost() + find_route(r, *out, to).cost(),
                    "",
                    false,
                    std::move(run)};
  if (*in == from && *out == to) plan.kind = DispatchKind::exact;
  return plan;
}

// Returns "magnitude(csr) -> csr".
std::string step_text(const Sparsifier& s, const Spec& in, const Spec& out) {
  return fmt::format("{}({}) -> {}", s.name().text(), in.str(), out.str());
}

std::string converted_text(const Sparsifier& s, const Spec& from, const SparsifyPlan& plan,
                           const Spec& to) {
  std::string text;
  if (!(from == plan.in)) text += find_route(registry(), from, plan.in).str() + ", ";
  text += step_text(s, plan.in, plan.out);
  if (!(plan.out == to)) text += ", " + find_route(registry(), plan.out, to).str();
  return text;
}

constexpr const char* no_implementation = ": no implementation for these layouts; ";

Tensor sparsify_densified(const Tensor& x, const Sparsifier& s, const Spec& layout,
                          const Hints& hints) {
  const Dense values = x.to_dense();
  Mask keep = s.select(values, hints);
  const Mask had = x.stored();
  const Device here = keep.device();
  keep = keep.to(Device::cpu);
  const Array<std::uint8_t> stored = had.bits.to(Device::cpu);
  std::uint8_t* bits = keep.bits.mutate();
  for (std::size_t i = 0; i < keep.bits.size(); ++i) bits[i] &= stored[i];
  return registry().pack(values, keep.to(here), layout);
}

}  // namespace

const Sparsifier& keeping_all() {
  static const Sparsifier& all = *new Sparsifier(KeepAll{});
  return all;
}

bool is_keep_all(const Sparsifier& s) {
  static const Name keep_all(KeepAll::name);
  return s.name() == keep_all;
}

SparsifyPlan plan_sparsify(const Sparsifier& s, const Spec& from, const Spec& to, Device device) {
  const std::string what = step_text(s, from, to);
  const Spec dense(Dense::name);
  if (is_keep_all(s)) {
    const Route route = find_route(registry(), from, to);
    return {{DispatchKind::exact},
            from,
            to,
            route.cost(),
            what + ": a conversion, " + route.str(),
            false,
            {}};
  }
  if (s.get<Resparsify>())
    return {
        {DispatchKind::exact}, from, to, 0, what + ": as the tensor's own sparsifier", false, {}};
  const Registry::Implementations all = registry().implementations(s);
  if (from.is(Dense::name)) {
    for (const auto& i : all)
      if (i->in == Dense::name && to.is(i->out) && i->serves(s, from, to))
        return {{DispatchKind::exact}, from, to, 0, what + ": exact", false, i};
    return {{DispatchKind::dense}, from, to, 0, what + ": selects, then packs", false, {}};
  }
  SparsifyPlan plan{{DispatchKind::dense},
                    dense,
                    to,
                    0,
                    what + no_implementation + "selects of the dense form",
                    false,
                    {}};
  // Dense values are in memory already, or the tensor must leave its device.
  if (device != Device::cpu || has_dense_values(from)) {
    plan.text = what + ": selects of the dense form";
    return plan;
  }
  bool is_found = false;
  for (const auto& i : all)
    if (auto made = plan_with(i, s, from, to); made && (!is_found || made->cost < plan.cost)) {
      plan = *std::move(made);
      is_found = true;
    }
  if (!is_found)
    plan.is_fallback = !s.needs_scores();
  else if (plan.kind == DispatchKind::exact)
    plan.text = what + ": exact";
  else
    plan.text = fmt::format("{}{}{} (cost {})", what, no_implementation,
                            converted_text(s, from, plan, to), plan.cost);
  return plan;
}

Tensor sparsify(const Tensor& x, const Sparsifier& s, const Spec& layout, const Hints& hints) {
  if (is_keep_all(s)) return convert(x, layout);
  if (s.get<Resparsify>())
    return sparsify(x, Resparsify::own(hints), layout, Resparsify::without_own(hints));
  if (x.is<Dense>()) return registry().prune(x.as<Dense>(), s, layout, hints);
  const Spec to = registry().canonical(layout);
  const SparsifyPlan plan = plan_sparsify(s, x.spec(), to, x.device());
  if (plan.is_fallback) report_fallback(plan.text);
  if (!plan.run) return sparsify_densified(x, s, to, hints);
  try {
    return convert(plan.run->run(s, convert(x, plan.in), {plan.out, hints}), to);
  } catch (const Unsupported& e) {
    report_fallback(
        fmt::format("{}: {}; selects of the dense form", step_text(s, x.spec(), to), e.what()));
    return sparsify_densified(x, s, to, hints);
  }
}

}  // namespace sten
