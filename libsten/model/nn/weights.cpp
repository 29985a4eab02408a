// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/weights.h"

#include <algorithm>
#include <set>

#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/structure.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/model/graph/sparsity_builder.h"

namespace sten {
namespace {

// Collects tensors that do not fit, for an error.
class Misfits {
 public:
  void add(std::string_view tensor, const std::string& what) {
    if (++count_ <= most_named)
      text_ += fmt::format("{} {} {}", count_ == 1 ? ":" : ";", printable(tensor), what);
  }
  std::string text() const {
    return fmt::format(
        "{} tensor{} not fit the model{}{}", count_, count_ == 1 ? " does" : "s do", text_,
        count_ > most_named ? fmt::format("; and {} more", count_ - most_named) : "");
  }
  bool any() const { return count_ > 0; }

 private:
  static constexpr std::size_t most_named = 4;  // to keep the message short
  std::string text_;
  std::size_t count_ = 0;
};

std::string shape_misfit(const Shape& got, const Shape& wanted) {
  return fmt::format("is {}, expected {}", to_string(got), to_string(wanted));
}

bool is_transposed(const Checkpoint& file) {
  return std::ranges::none_of(file.shards(), [](const Shard& s) {
    return std::ranges::any_of(s.metadata,
                               [](const auto& m) { return m.first == orientation_key; });
  });
}
// The shape of w in the file: matrices of an ONNX model are [in, out].
Shape shape_in(bool transposed, const Weight& w) {
  return transposed && w.in_by_out ? Shape(w.shape.rbegin(), w.shape.rend()) : w.shape;
}
Tensor transposed_weight(const Tensor& x, const std::string& name) {
  Tensor y = apply("transpose", {x.to_dense()});
  if (x.is<Dense>()) return y;
  const Mask from = x.stored();
  const Index rows = y.shape()[0], cols = y.shape()[1];
  Mask keep = Mask::none(y.shape());
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < cols; ++c)
      if (from[c * rows + r]) keep.set(r * cols + c, true);
  try {
    return registry().pack(y.as<Dense>(), keep, transposed_structure(x.spec()));
  } catch (const Error& e) {
    warn("{}: stored dense in the model, which has [out, in] matrices: {}", printable(name),
         e.what());
    return y;
  }
}
Tensor load_weight(const Checkpoint& file, bool transposed, const Weight& w,
                   const CheckpointTensor& t, LowWeights low) {
  Tensor x = file.load(t);
  if (t.dtype == DType::F16 || (t.dtype == DType::BF16 && low == LowWeights::widened))
    x = widened(x);
  return transposed && w.in_by_out ? transposed_weight(x, t.name) : x;
}

bool is_same(const Tensor& a, const Tensor& b) {
  const Dense x = a.to_dense(), y = b.to_dense();
  return x.dtype() == y.dtype() && std::ranges::equal(x.values.bytes(), y.values.bytes());
}

}  // namespace

std::vector<const CheckpointTensor*> weight_entries(const Weight& w, const Checkpoint& file) {
  std::vector<const CheckpointTensor*> all;
  if (const CheckpointTensor* t = file.find(w.name)) all.push_back(t);
  for (const std::string& alias : w.aliases)
    if (const CheckpointTensor* t = file.find(alias)) all.push_back(t);
  return all;
}

const StackedWeight* stacked_entry(const Weight& w, const Checkpoint& file) {
  const auto at = std::ranges::find_if(
      w.stacked_in, [&](const StackedWeight& s) { return file.find(s.tensor) != nullptr; });
  return at == w.stacked_in.end() ? nullptr : &*at;
}

StoredWeights::StoredWeights(const Graph& g, const Checkpoint& file,
                             const std::vector<std::string>& unused,
                             const std::vector<std::string>& may_lack, LowWeights low)
    : file_(file), low_(low), is_transposed_(is_transposed(file)) {
  const auto any_matches = [](const std::vector<std::string>& globs, std::string_view name) {
    return std::ranges::any_of(globs, [&](const std::string& g) { return glob_match(g, name); });
  };
  Misfits misfits;
  std::set<std::string_view> known, refused;
  // Adds each tensor that does not fit once.
  const auto check = [&](const CheckpointTensor& t, const Shape& wanted) {
    const bool is_taken =
        t.dtype == DType::F32 || (low != LowWeights::refused && is_low_float(t.dtype));
    if ((t.shape == wanted && is_taken) || !refused.insert(t.name).second) return;
    misfits.add(t.name, t.shape != wanted ? shape_misfit(t.shape, wanted)
                                          : fmt::format("is {}, expected F32", name_of(t.dtype)));
  };
  for (const Weight& w : g.weights()) {
    known.insert(w.name);
    known.insert(w.aliases.begin(), w.aliases.end());
    const std::vector<const CheckpointTensor*> entries = weight_entries(w, file);
    for (const CheckpointTensor* t : entries) check(*t, shape_in(is_transposed_, w));
    if (!entries.empty()) continue;
    if (const StackedWeight* const part = stacked_entry(w, file)) {
      known.insert(part->tensor);
      check(*file.find(part->tensor), part->shape);
    } else if (!any_matches(may_lack, w.name)) {
      misfits.add(w.name, "is missing");
    }
  }
  for (const CheckpointTensor& t : file.tensors())
    if (!known.contains(t.name) && std::ranges::find(unused, t.name) == unused.end() &&
        !any_matches(unused, t.name))
      misfits.add(t.name, "is not in the model");
  if (misfits.any()) fail("{}: {}", file.name(), misfits.text());
}

std::optional<Tensor> StoredWeights::load(const Weight& w) {
  const std::vector<const CheckpointTensor*> entries = weight_entries(w, file_);
  if (entries.empty()) {
    const StackedWeight* const part = stacked_entry(w, file_);
    if (!part) return std::nullopt;
    return load_part(*file_.find(part->tensor), part->first, w.shape);
  }
  const auto loaded = [&](const CheckpointTensor& t) {
    return load_weight(file_, is_transposed_, w, t, low_);
  };
  Tensor x = loaded(*entries.front());
  for (std::size_t i = 1; i < entries.size(); ++i)
    if (!is_same(x, loaded(*entries[i]))) {
      Misfits misfits;
      misfits.add(entries[i]->name,
                  "differs from " + printable(w.name) + ", whose values it shares");
      fail("{}: {}", file_.name(), misfits.text());
    }
  return x;
}

Tensor StoredWeights::load_part(const CheckpointTensor& t, Index first, const Shape& shape) {
  auto at = stacks_.find(t.name);
  if (at == stacks_.end()) {
    const Tensor x = file_.load(t);
    if (!x.is<Dense>())
      warn("{}: dense in the model, which has its parts as weights", printable(t.name));
    at = stacks_.emplace(t.name, x.to_dense()).first;
  }
  const Values& v = at->second.values;
  const auto width = static_cast<std::size_t>(v.width());
  const auto from = static_cast<std::size_t>(first), n = static_cast<std::size_t>(size_of(shape));
  const Tensor y = Dense{shape, Values(v.dtype(), v.bytes().part(from * width, n * width))};
  return t.dtype == DType::F16 || low_ == LowWeights::widened ? widened(y) : y;
}

void StoredWeights::release() {
  stacks_.clear();
  for (const CheckpointTensor& t : file_.tensors()) file_.drop(t);
}

NamedValues<Tensor> load_weights(const Graph& g, const Checkpoint& file,
                                 const std::vector<std::string>& unused,
                                 const std::vector<std::string>& may_lack, LowWeights low) {
  StoredWeights stored(g, file, unused, may_lack, low);
  NamedValues<Tensor> all;
  for (const Weight& w : g.weights())
    if (std::optional<Tensor> x = stored.load(w)) all.emplace(w.name, *std::move(x));
  return all;
}

Metadata orientation_of(const Graph& g) {
  const bool any = std::ranges::any_of(g.weights(), &Weight::in_by_out);
  return any ? Metadata{{orientation_key, "out_by_in"}} : Metadata();
}

Graph load_sparsity(const Graph& g, const Checkpoint& file) {
  for (const Shard& shard : file.shards())
    for (const auto& [key, value] : shard.metadata) {
      if (key != formats_key) continue;
      try {
        return SparsityBuilder::parse(value, formats_key).sparse_graph(g);
      } catch (const Error& e) {
        fail("{}: {}", file.name(), e.what());
      }
    }
  return g;
}

void save_weights(const Graph& g, const NamedValues<Tensor>& weights, const std::string& path,
                  bool overwrite, Metadata metadata, bool in_by_out,
                  const NamedValues<Tensor>& others) {
  Misfits misfits;
  std::vector<TensorInfo> contents;
  for (const Weight& w : g.weights()) {
    const auto at = weights.find(w.name);
    if (at == weights.end())
      misfits.add(w.name, "is missing");
    else if (at->second.shape() != w.shape)
      misfits.add(w.name, shape_misfit(at->second.shape(), w.shape));
    else
      contents.push_back({w.name, at->second.dtype(), shape_in(in_by_out, w), at->second.spec()});
  }
  if (misfits.any()) fail_usage("{}: {}", quote(path), misfits.text());
  for (const auto& [name, x] : others) contents.push_back({name, x.dtype(), x.shape(), x.spec()});
  const SparsityBuilder sparsity = SparsityBuilder::of(g);
  std::erase_if(metadata,
                [](const auto& m) { return m.first == formats_key || m.first == orientation_key; });
  if (!sparsity.empty()) metadata.emplace_back(formats_key, sparsity.to_json());
  if (!in_by_out) std::ranges::copy(orientation_of(g), std::back_inserter(metadata));
  OutputFile out(path, overwrite);
  CheckpointWriter writer(out, std::move(metadata), contents);
  for (const Weight& w : g.weights()) {
    const Tensor& x = weights.find(w.name)->second;
    writer.add(w.name, in_by_out && w.in_by_out ? apply("transpose", {x.as<Dense>()}) : x);
  }
  for (const auto& [name, x] : others) writer.add(name, x);
  writer.finish();
  out.commit();
}

namespace {

// The weight of each tensor in the file; nullptr for other tensors.
std::vector<const Weight*> weights_in(const Graph& g, const Checkpoint& file) {
  std::vector<const Weight*> all(file.tensors().size());
  for (const Weight& w : g.weights())
    for (const CheckpointTensor* t : weight_entries(w, file))
      all[static_cast<std::size_t>(t - file.tensors().data())] = &w;
  return all;
}

}  // namespace

std::string why_not_onnx(const Graph& g, const Checkpoint& model) {
  const std::vector<const Weight*> weights = weights_in(g, model);
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i]) changed.push_back(i);
  if (std::string why = CheckpointOutput::why_fixed(model, changed); !why.empty()) return why;
  for (const Shard& s : model.shards())
    if (s.file_name.find('/') != std::string::npos)
      return fmt::format("its external data {} lie in a folder", quote(s.file_name));
  return "";
}

void save_onnx(const Graph& g, const NamedValues<Tensor>& weights, const Checkpoint& model,
               const std::string& path, bool overwrite) {
  const std::vector<const Weight*> of = weights_in(g, model);
  CheckpointOutput out(path, overwrite, false);
  out.begin(model, {model.tensors().begin(), model.tensors().end()}, {});
  for (const std::size_t i : model.data_order()) {
    if (!of[i]) {
      out.copy(i);
      continue;
    }
    const Tensor x = weights.find(of[i]->name)->second.to_dense();
    out.add(i, of[i]->in_by_out ? apply("transpose", {x}) : x);
  }
  out.finish();
  out.commit();
}

}  // namespace sten
