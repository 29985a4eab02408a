// SPDX-License-Identifier: Apache-2.0
// The registry: the tables of layouts, sparsifiers and conversions of the process, by name.
#pragma once
#include <functional>
#include <map>
#include <shared_mutex>

#include "libsten/core/sparsify/sparsifier.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// Arguments of a sparsifier's implementation besides the sparsifier and the tensor.
struct SparsifyCall {
  const Spec& layout;  // layout of the result
  const Hints& hints;
  // If not nullptr, receives the mask of kept positions. Left unchanged if these are the stored
  // positions of the result.
  Mask* kept = nullptr;
};

// A sparsifier's implementation for two layouts. Its result must equal a selection from the dense
// form that drops positions which are not stored. Throws Unsupported for tensors that it cannot
// handle, which then go through the dense form.
struct SparsifierImplementation {
  std::string sparsifier, in, out;
  // Whether it supports these parameters; the specs have the layouts `in` and `out`.
  std::function<bool(const Sparsifier& s, const Spec& in, const Spec& out)> serves;
  std::function<Tensor(const Sparsifier& s, const Tensor& x, const SparsifyCall& call)> run;

  // In place of a sparsifier's name: all sparsifiers with Sparsifier::selects_stored.
  static constexpr const char* any_stored = "*stored";
};

class Registry {
 public:
  // Makes layout L known to files, conversions and programs. `example`: a spec that tests of all
  // registered layouts use. Replaces a layout of the same name and removes its edges.
  template <Layout L>
  void add_layout(const Spec& example = Spec(L::name));
  // Adds or replaces an edge, a direct lossless conversion. `convert` keeps positions, values and
  // the dimensions of rows and columns, or throws Error if To cannot hold them. `to` is the target
  // spec, or within a route the layout's name and dims; layouts that need more parameters are only
  // at the end of routes. Both layouts must be registered.
  template <Layout From, Layout To>
  void add_edge(To (*convert)(const From& x, const Spec& to));
  // `make` makes a sparsifier of a spec or throws; it checks the keys (Spec::check_keys). own_keys:
  // for the own_sparsifier of a layout, the keys that are not the layout's.
  void add_sparsifier(std::string name, const Spec& example,
                      std::function<Sparsifier(const Spec&)> make,
                      std::vector<std::string> own_keys = {}, SpecDoc doc = {});
  // The same by the members of a type (core/sparsify/sparsifier.h).
  template <class S>
  void add_sparsifier(const Spec& example = Spec(S::name));

  // Adds or replaces an implementation: run(const S&, const In&, const SparsifyCall&) returns Out
  // (SparsifierImplementation). `serves`, if given, must return true. S, In and Out must be
  // registered; registering one of them again removes the implementation.
  template <class S, Layout In, Layout Out, class F>
  void add_implementation(
      F run, std::function<bool(const S&, const Spec& in, const Spec& out)> serves = nullptr);
  void add_implementation(SparsifierImplementation made);
  // The implementations that may serve s: those of its name, then those of any_stored.
  using Implementations = std::vector<std::shared_ptr<const SparsifierImplementation>>;
  Implementations implementations(const Sparsifier& s) const;

  // Error (usage), with a suggestion, if the layout is unknown or the spec can never be packed.
  void check_layout(const Spec& spec) const;
  // The checked spec with its keys in the layout's order.
  Spec canonical(const Spec& spec) const;
  // Packs exactly the elements of x in the mask, or throws Error. The result is on x's device;
  // falls back to the CPU if the layout cannot be packed on the device.
  Tensor pack(const Dense& x, const Mask& keep, const Spec& layout) const;
  // Packs the elements of x that s keeps; in one step with an implementation for dense. kept:
  // receives the mask; may be nullptr.
  Tensor prune(const Dense& x, const Sparsifier& s, const Spec& layout, const Hints& hints = {},
               Mask* kept = nullptr) const;
  Tensor prune(const Dense& x, const Spec& sparsifier, const Spec& layout, const Hints& hints = {},
               Mask* kept = nullptr) const {
    return prune(x, this->sparsifier(sparsifier), layout, hints, kept);
  }
  // Makes a tensor of parts, which are checked: Error.
  Tensor load(const Stored& stored) const;
  // Names of the layout's parts, in the order in which they are saved.
  const std::vector<std::string>& part_names(std::string_view layout) const;
  bool is_optional_part(std::string_view layout, std::string_view part) const;
  Sparsifier sparsifier(const Spec& spec) const;

  // The edges from a layout, by name of their targets.
  using Edge = std::function<Tensor(const Tensor&, const Spec& to)>;
  std::map<std::string, Edge> edges(std::string_view from) const;
  bool has_key(std::string_view layout, std::string_view key) const;
  // Whether specs of the layout need parameters, as its example does.
  bool needs_parameters(std::string_view layout) const;

  // Whether the layout is registered and holds_any_pattern (core/tensor/layout.h).
  bool holds_any_pattern(std::string_view layout) const;
  // The name of the layout's own_sparsifier; empty if it has none or is unknown.
  std::string own_sparsifier(std::string_view layout) const;
  // Whether the layout is a structure: its parameters determine the sets of positions it can hold.
  bool is_structure(std::string_view layout) const;
  // Whether a structure can hold every selection of the own sparsifier of `other`.
  bool includes(const Spec& layout, const Spec& other) const;
  // Size of all parts if these positions are packed; no value if pack() would fail, or if only
  // packing could tell and the positions are a list. A structure must be able to hold them.
  std::optional<Index> bytes(const Spec& layout, const Occupancy& of) const;

  struct Example {
    std::string name;
    Spec spec;
  };
  // In the order of registration: built-in layouts, in the order of reports, come first.
  std::vector<Example> layouts() const;
  // Sorted by name.
  std::vector<Example> sparsifiers() const;
  // The member `doc` of a layout's or sparsifier's type; empty if it has none.
  SpecDoc layout_doc(std::string_view name) const { return layout(name).doc; }
  SpecDoc sparsifier_doc(std::string_view name) const;
  // The keys of a layout's own sparsifier that are not the layout's.
  std::vector<std::string> own_keys(std::string_view sparsifier) const;

 private:
  struct LayoutEntry {
    Spec example;
    SpecDoc doc;
    std::size_t order = 0;
    bool holds_any_pattern = false;
    std::string own_sparsifier;
    std::vector<std::string> keys, part_names, optional_parts;
    std::function<bool(const Spec&, const Spec& other)> includes;
    std::function<std::optional<Index>(const Spec&, const Occupancy&)> bytes;  // may be empty
    std::function<void(const Spec&)> check;
    std::function<Tensor(const Dense&, const Mask&, const Spec&)> pack;
    std::function<bool(const Shape&, const Spec&)> packs_on_device;
    std::function<Tensor(const Stored&)> load;
  };
  struct SparsifierEntry {
    Spec example;
    std::function<Sparsifier(const Spec&)> make;
    std::vector<std::string> own_keys;
    SpecDoc doc;
  };
  void add(std::string name, LayoutEntry entry);
  void add(std::string from, std::string to, Edge edge);
  const LayoutEntry& layout(std::string_view name) const;

  mutable std::shared_mutex lock_;
  std::map<std::string, LayoutEntry, std::less<>> layouts_;
  std::map<std::string, SparsifierEntry, std::less<>> sparsifiers_;
  std::map<std::string, std::map<std::string, Edge>, std::less<>> edges_;
  std::map<std::string, Implementations, std::less<>> implementations_;  // by sparsifier
};

// The registry of the process, including the built-in entries.
Registry& registry();

// For namespace scope: with `const bool added = add_layout<Mine>("mine:k=1");` in a file, every
// program that links it knows the layout.
template <Layout L>
bool add_layout(std::string_view example) {
  registry().add_layout<L>(Spec::parse(example));
  return true;
}
template <class S>
bool add_sparsifier(std::string_view example) {
  registry().add_sparsifier<S>(Spec::parse(example));
  return true;
}
template <Layout From, Layout To>
bool add_edge(To (*convert)(const From& x, const Spec& to)) {
  registry().add_edge<From, To>(convert);
  return true;
}

// run(const S& s, const In& x, const SparsifyCall& call) returns the selection of s from x in
// call.layout.
template <class S, Layout In, Layout Out>
bool add_sparsifier_implementation(Out (*run)(const S&, const In&, const SparsifyCall&)) {
  registry().add_implementation<S, In, Out>(run);
  return true;
}

template <class S>
void Registry::add_sparsifier(const Spec& example) {
  std::vector<std::string> own_keys;
  SpecDoc doc;
  if constexpr (requires { S::own_keys; })
    own_keys.assign(std::begin(S::own_keys), std::end(S::own_keys));
  if constexpr (requires { S::doc; }) doc = S::doc;
  const auto make = [](const Spec& s) -> Sparsifier {
    if constexpr (requires { S::make(s); }) {
      return S::make(s);
    } else {
      s.check_keys({});
      return S{};
    }
  };
  add_sparsifier(S::name, example, make, std::move(own_keys), doc);
}

template <class S, Layout In, Layout Out, class F>
void Registry::add_implementation(
    F run, std::function<bool(const S&, const Spec& in, const Spec& out)> serves) {
  add_implementation(
      {S::name, In::name, Out::name,
       [serves = std::move(serves)](const Sparsifier& s, const Spec& in, const Spec& out) {
         const S* own = s.get<S>();
         return own && (!serves || serves(*own, in, out));
       },
       [run](const Sparsifier& s, const Tensor& x, const SparsifyCall& call) -> Tensor {
         return Out(run(*s.get<S>(), x.as<In>(), call));
       }});
}

template <Layout From, Layout To>
void Registry::add_edge(To (*convert)(const From&, const Spec&)) {
  add(From::name, To::name,
      [convert](const Tensor& x, const Spec& to) -> Tensor { return convert(x.as<From>(), to); });
}

template <Layout L>
void Registry::add_layout(const Spec& example) {
  LayoutEntry e;
  e.example = example;
  if constexpr (requires { L::doc; }) e.doc = L::doc;
  e.holds_any_pattern = requires { L::holds_any_pattern; };
  if constexpr (requires { L::own_sparsifier; }) e.own_sparsifier = L::own_sparsifier;
  e.includes = [](const Spec& s, const Spec& other) {
    if constexpr (requires { L::includes(s, other); })
      return L::includes(s, other);
    else
      return s == other;
  };
  if constexpr (requires(const Spec& s, const Occupancy& of) {
                  { L::bytes(s, of) } -> std::convertible_to<std::optional<Index>>;
                })
    e.bytes = [](const Spec& s, const Occupancy& of) { return L::bytes(s, of); };
  L blank;
  L::parts(blank, parts_detail::KeyLister{e.keys, e.part_names, e.optional_parts});
  e.check = [](const Spec& s) {
    if constexpr (requires { L::check(s); }) L::check(s);
  };
  e.pack = [](const Dense& x, const Mask& m, const Spec& s) -> Tensor { return L::pack(x, m, s); };
  e.packs_on_device = []([[maybe_unused]] const Shape& shape, [[maybe_unused]] const Spec& s) {
    if constexpr (requires { L::packs_on_device(shape, s); })
      return L::packs_on_device(shape, s);
    else
      return false;
  };
  e.load = [](const Stored& s) -> Tensor { return sten::load<L>(s); };
  add(L::name, std::move(e));
}

}  // namespace sten
