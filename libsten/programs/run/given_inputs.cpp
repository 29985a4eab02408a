// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/given_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>

#include "libsten/compute/ops/common/indices.h"
#include "libsten/core/base/name_list.h"
#include "libsten/core/base/scalars.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

std::vector<std::string> names_of(const std::vector<ModelInput>& inputs) {
  std::vector<std::string> all;
  for (const ModelInput& p : inputs) all.push_back(p.name);
  return all;
}

const ModelInput& input_called(const std::string& name, const RunnableModel& m) {
  const auto at = std::ranges::find(m.inputs, name, &ModelInput::name);
  if (at != m.inputs.end()) return *at;
  fail_usage("--input: unknown input {} of {}{} (expected one of {})", quote(name), m.name,
             suggestion(name, names_of(m.inputs)), name_list(names_of(m.inputs)));
}

template <class To, class From>
bool holds(From v) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    return std::in_range<To>(v);
  } else if constexpr (std::is_integral_v<To>) {
    return false;
  } else if constexpr (std::is_integral_v<From>) {
    const auto result = static_cast<To>(v);
    // Casting 2^63 or 2^64 back would overflow.
    return std::abs(static_cast<double>(result)) < 0x1p62 && static_cast<From>(result) == v;
  } else {
    return std::isnan(v) || static_cast<From>(static_cast<To>(v)) == v;
  }
}

[[noreturn]] void fail_dtype(const std::string& what, DType given, DType wanted) {
  fail("{}: elements are {}, but the model takes {}", what, name_of(given), name_of(wanted));
}

template <class To>
Dense converted(DType dtype, const Dense& x, const std::string& what) {
  Dense y{x.extents, Values::uninitialized(dtype, x.size())};
  const auto out = y.values.mutate<To>();
  const bool known = with_scalar(x.dtype(), [&]<class U>(U, auto number) {
    const auto v = x.values.as<U>();
    if constexpr (std::is_integral_v<To> && !std::is_integral_v<decltype(number(U{}))>)
      fail_dtype(what, x.dtype(), dtype);
    for (std::size_t i = 0; i < v.size(); ++i) {
      const auto n = number(v[i]);
      if (!holds<To>(n))
        fail("{}: element {} is {}, not exact in {}, the model's dtype", what,
             index_text(static_cast<Index>(i), x.extents), n, name_of(dtype));
      out[i] = static_cast<To>(n);
    }
  });
  if (!known) fail_dtype(what, x.dtype(), dtype);
  return y;
}

// The value of each symbolic extent, and the input that set it.
using Extents = std::map<std::string, std::pair<Index, std::string>>;

void check_shape(const ModelInput& to, const Dense& x, const std::string& what, Extents& symbols) {
  if (!to.shape) return;
  const auto& wanted = *to.shape;
  bool fits = wanted.size() == x.extents.size();
  for (std::size_t d = 0; fits && d < wanted.size(); ++d)
    fits = !wanted[d].size || *wanted[d].size == x.extents[d];
  if (!fits)
    fail("{}: shape is {}, but the model's input {} takes {}", what, to_string(x.extents),
         quote(to.name), shape_text(wanted));
  for (std::size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d].size || wanted[d].symbol.empty()) continue;
    const auto [at, is_new] = symbols.try_emplace(wanted[d].symbol, x.extents[d], to.name);
    if (!is_new && at->second.first != x.extents[d])
      fail("{}: in shape {}, {} is {}, but in {} {}", what, to_string(x.extents),
           printable(wanted[d].symbol), x.extents[d], quote(at->second.second), at->second.first);
  }
}

Dense filled_with(const Shape& shape, DType dtype, auto&& value) {
  Dense y{shape, Values::uninitialized(dtype, size_of(shape))};
  const auto put = [&]<class To>(To) {
    const auto out = y.values.mutate<To>();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<To>(value(static_cast<Index>(i)));
  };
  if (dtype == DType::F32)
    put(float{});
  else if (dtype == DType::I32)
    put(std::int32_t{});
  else if (dtype == DType::BOOL)
    put(std::uint8_t{});
  else
    put(std::int64_t{});
  return y;
}

// Finds the inputs whose first extent is the batch, and that extent.
void find_batch(const RunnableModel& m, GivenInputs& in) {
  std::string symbol;
  bool is_first = true;
  for (const ModelInput& p : m.inputs) {
    const Shape& shape = in.values.at(p.name).shape();
    if (shape.empty()) continue;
    if (p.shape && !p.shape->empty() && p.shape->front().size) continue;
    const std::string own = p.shape && !p.shape->empty() ? p.shape->front().symbol : "";
    if (is_first) {
      symbol = own;
      in.rows = shape.front();
      is_first = false;
    }
    if (own == symbol && shape.front() == in.rows) in.batched.push_back(p.name);
  }
  if (!is_first) return;
  // A model with a fixed batch size.
  for (const ModelInput& p : m.inputs)
    if (const Shape& shape = in.values.at(p.name).shape(); shape.size() > 1) {
      in.rows = shape.front();
      return;
    }
}

}  // namespace

void fill_text_inputs(const RunnableModel& m, GivenInputs& in) {
  const auto ids = in.values.find("input_ids");
  if (ids == in.values.end() || ids->second.shape().size() != 2) return;
  const Index rows = ids->second.shape()[0], tokens = ids->second.shape()[1];
  for (const ModelInput& p : m.inputs) {
    if (in.values.contains(p.name)) continue;
    const DType dtype = p.dtype.value_or(DType::I64);
    const bool is_row = p.shape && p.shape->size() == 1;
    const bool is_one = p.shape && p.shape->size() == 2 && p.shape->front().size == 1;
    const Shape shape = is_row ? Shape{tokens} : Shape{is_one ? 1 : rows, tokens};
    const char* what = nullptr;
    if (p.name == "position_ids") {
      in.values.emplace(p.name, filled_with(shape, dtype, [&](Index i) { return i % tokens; }));
      what = "0, 1, 2 and so on";
    } else if (p.name == "token_type_ids") {
      in.values.emplace(p.name, filled_with(shape, dtype, [](Index) { return 0; }));
      what = "0";
    } else if (p.name == "attention_mask") {
      in.values.emplace(p.name, filled_with(shape, dtype, [](Index) { return 1; }));
      what = "1";
    }
    if (what) in.filled.push_back(fmt::format("{} was not given: {}", p.name, what));
  }
}

Dense read_values(const std::string& file) {
  const Checkpoint c = Checkpoint::open(file);
  if (!c.is_array()) fail("{}: expected a .npy file", c.name());
  return c.load(c.tensors().front()).to_dense();
}

Dense exactly_as(DType dtype, const Dense& x, const std::string& what) {
  if (x.dtype() == dtype) return x;
  switch (dtype) {
    case DType::F32:
      return converted<float>(dtype, x, what);
    case DType::I64:
      return converted<std::int64_t>(dtype, x, what);
    case DType::I32:
      return converted<std::int32_t>(dtype, x, what);
    case DType::U8:
      return converted<std::uint8_t>(dtype, x, what);
    case DType::BOOL: {
      Dense y = converted<std::uint8_t>(DType::U8, x, what);
      for (const std::uint8_t v : y.values.as<std::uint8_t>())
        if (v > 1) fail("{}: element is {}, but the model takes 0 and 1", what, v);
      return Dense{y.extents, Values(DType::BOOL, y.values.bytes())};
    }
    default:
      fail_dtype(what, x.dtype(), dtype);
  }
}

bool has_mask(const std::vector<GivenArray>& given) {
  return std::ranges::count(given, "attention_mask", &GivenArray::name) > 0;
}

std::vector<GivenArray> read_arrays(const std::vector<std::string>& given) {
  std::vector<GivenArray> all;
  for (const std::string& text : given) {
    if (const std::size_t split = text.find('='); split != text.npos) {
      const std::string file = text.substr(split + 1);
      all.push_back({text.substr(0, split), read_values(file), printable(file), text});
      continue;
    }
    const Checkpoint c = Checkpoint::open(text);
    for (const CheckpointTensor& t : c.tensors())
      all.push_back({c.is_array() ? "" : t.name, c.load(t).to_dense(),
                     c.is_array() ? c.name() : c.name() + ": " + quote(t.name), text});
  }
  return all;
}

GivenInputs inputs_of(const std::vector<GivenArray>& given, const RunnableModel& m) {
  GivenInputs in;
  Extents symbols;
  const bool is_text = std::ranges::count(names_of(m.inputs), "input_ids") > 0;
  const bool is_clear =
      m.inputs.size() == 1 || (is_text && std::ranges::count(given, "", &GivenArray::name) == 1);
  for (const GivenArray& x : given) {
    if (x.name.empty() && !is_clear)
      fail_usage("--input {}: {} takes {} (name the input: NAME={})", printable(x.text), m.name,
                 name_list(names_of(m.inputs)), printable(x.text));
    const ModelInput& to = !x.name.empty() ? input_called(x.name, m)
                           : is_text       ? input_called("input_ids", m)
                                           : m.inputs.front();
    if (in.values.contains(to.name)) fail_usage("--input: duplicate input {}", quote(to.name));
    check_shape(to, x.values, x.what, symbols);
    in.values.emplace(to.name, to.dtype ? exactly_as(*to.dtype, x.values, x.what) : x.values);
  }
  fill_text_inputs(m, in);
  if (const auto ids = in.values.find("input_ids"); m.positions && ids != in.values.end())
    if (const Shape shape = ids->second.shape(); !shape.empty() && shape.back() > *m.positions)
      fail_usage("--input: {} tokens exceed the {} positions of {}", shape.back(), *m.positions,
                 m.name);
  std::vector<std::string> missing;
  for (const ModelInput& p : m.inputs)
    if (!in.values.contains(p.name)) missing.push_back(p.name);
  if (!missing.empty())
    fail_usage("{}: missing input{} {} (name files with --input NAME=FILE)", m.name,
               missing.size() == 1 ? "" : "s", name_list(missing));
  find_batch(m, in);
  return in;
}

NamedValues<Tensor> GivenInputs::part(Index begin, Index end) const {
  NamedValues<Tensor> all = values;
  if (begin == 0 && end == rows) return all;
  for (const std::string& name : batched)
    all.at(name) = rows_of(all.at(name).to_dense(), begin, end);
  return all;
}

}  // namespace sten
