// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/pytorch/state_dict.h"

#include <algorithm>
#include <unordered_set>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/pytorch/globals.h"
#include "libsten/files/tensors/safetensors.h"
#include "libsten/files/tensors/tensor_name.h"

namespace sten {
namespace {

using namespace std::string_view_literals;

// Limit of nested dicts.
constexpr int deepest_dict = 32;
constexpr std::uint32_t uncounted = ~std::uint32_t{0};
// Bytes of names allowed beyond four times the file size.
constexpr std::uint64_t free_name_bytes = 16'000'000;
// Limits of the bytes of tied weights and views: a multiple of the file size, and a constant.
constexpr std::uint64_t most_copies = 32, free_copy_bytes = 64'000'000;
// Arguments of a tensor's constructor; PyTorch's functions take 7 and 8.
constexpr std::size_t most_arguments = 16;

class StateDictReader {
 public:
  StateDictReader(const Pickle& pickle, const TorchRecords& records, std::uint64_t file_bytes,
                  const std::string& file)
      : p_(pickle),
        records_(records),
        file_bytes_(file_bytes),
        file_(file),
        counted_(pickle.values.size(), uncounted) {}

  StateDict read() {
    const PickleValue& root = p_[p_.root];
    const std::size_t all = tensors_in(p_.root);
    if (is_tensor(root)) {
      add("tensor", root);
    } else if (root.kind != PickleKind::dict) {
      fail("{}: expected a dict of tensors (save model.state_dict())", file_);
    } else if (const auto [key, model] = model_in(root); model) {
      walk(*model, "");
      if (const std::size_t more = all - out_.tensors.size(); more > 0)
        out_.notes.push_back(
            fmt::format("only the tensors of {} are read, not {} others", quote(key), more));
    } else {
      walk(root, "");
    }
    if (out_.tensors.empty()) fail("{}: expected tensors, got none", file_);
    note_shared();
    return std::move(out_);
  }

 private:
  const PickleValue* global_of(const PickleValue& call) const {
    return call.kind == PickleKind::call ? &p_[call.items[0]] : nullptr;
  }
  bool is_tensor(const PickleValue& v) const {
    const PickleValue* g = global_of(v);
    if (!g) return false;
    switch (g->global.what) {
      case TorchGlobal::tensor:
      case TorchGlobal::tensor_of_dtype:
      case TorchGlobal::parameter:
      case TorchGlobal::typed_tensor:
        return true;
      default:
        return false;
    }
  }

  // Whether the tensor is of rank 2 or more: a loss, the best accuracy and the state of a random
  // generator, which trainers save beside the model, are not.
  bool is_weight(const PickleValue& v) const {
    const PickleValue* t = &v;
    for (int depth = 0; depth < 3 && is_tensor(*t); ++depth) {
      const PickleValue& arguments = p_[t->items[1]];
      const TorchGlobal what = global_of(*t)->global.what;
      if (what == TorchGlobal::parameter) {
        if (arguments.items.empty()) return false;
        t = &p_[arguments.items[0]];
        continue;
      }
      const PickleValue* given = &arguments;
      if (what == TorchGlobal::typed_tensor) {
        if (arguments.items.size() < 3) return false;
        given = &p_[arguments.items[2]];
      }
      return given->items.size() > 2 && p_[given->items[2]].items.size() > 1;
    }
    return false;
  }

  // The model in a trainer's file; nullptr if the dict itself is the model.
  std::pair<std::string_view, const PickleValue*> model_in(const PickleValue& root) const {
    const auto has_tensor = [&](const PickleValue& dict) {
      for (std::size_t i = 1; i < dict.items.size(); i += 2)
        if (is_tensor(p_[dict.items[i]])) return true;
      return false;
    };
    std::unordered_set<const PickleValue*> without;  // has a tensor
    for (std::size_t i = 1; i < root.items.size(); i += 2)
      if (is_weight(p_[root.items[i]])) return {};
    for (const std::string_view wanted :
         {"state_dict"sv, "model_state_dict"sv, "model"sv, "module"sv, "params"sv})
      for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
        const PickleValue &key = p_[root.items[i]], &value = p_[root.items[i + 1]];
        if (key.kind != PickleKind::text || key.text != wanted || value.kind != PickleKind::dict ||
            without.contains(&value))
          continue;
        if (has_tensor(value)) return {wanted, &value};
        without.insert(&value);
      }
    return {};
  }

  // The number of tensors in a value at any depth, a shared tensor counting once per name;
  // max_entries + 1 means more. Values may be shared and cyclic, and are visited once.
  std::uint32_t tensors_in(std::uint32_t id, int depth = 0) {
    const PickleValue& v = p_[id];
    if (is_tensor(v)) return 1;
    const bool dict = v.kind == PickleKind::dict;
    if (!dict && v.kind != PickleKind::list && v.kind != PickleKind::tuple) return 0;
    if (depth > deepest_dict) fail("{}: dicts nest deeper than {}", file_, deepest_dict);
    if (counted_[id] == uncounted) {
      std::size_t all = 0;
      for (std::size_t i = dict ? 1 : 0; i < v.items.size(); i += dict ? 2 : 1)
        all += tensors_in(v.items[i], depth + 1);
      counted_[id] = static_cast<std::uint32_t>(std::min(all, max_entries + 1));
    }
    return counted_[id];
  }

  // Adds all tensors in a dict, list or tuple, at any depth.
  void walk(const PickleValue& v, const std::string& path) {
    walked_ += v.items.size();
    if (walked_ > max_pickle_values) fail("{}: dicts contain themselves", file_);
    const bool dict = v.kind == PickleKind::dict;
    for (std::size_t i = dict ? 1 : 0; i < v.items.size(); i += dict ? 2 : 1) {
      if (tensors_in(v.items[i]) == 0) continue;
      std::string name = dict ? key(v.items[i - 1], path) : std::to_string(i);
      if (!path.empty()) name = path + "." + name;
      name_bytes_ += name.size();
      if (name_bytes_ > free_name_bytes + 4 * file_bytes_)
        fail("{}: tensor names take more than {} bytes", file_, free_name_bytes + 4 * file_bytes_);
      const PickleValue& item = p_[v.items[i]];
      if (is_tensor(item))
        add(name, item);
      else
        walk(item, name);
    }
  }
  std::string key(std::uint32_t id, const std::string& path) const {
    const PickleValue& k = p_[id];
    if (k.kind == PickleKind::integer) return std::to_string(k.integer);
    if (k.kind != PickleKind::text)
      fail("{}: {}: expected a string or a number as key", file_, quote(path));
    return std::string(k.text);
  }

  void add(const std::string& name, const PickleValue& v) {
    if (const std::string why = why_no_name(name); !why.empty())
      fail("{}: {}: {}", file_, quote(name), why);
    if (out_.tensors.size() == max_entries)
      fail("{}: has more than {} tensors", file_, max_entries);
    try {
      TorchTensor t = tensor(v, 0);
      tensor_bytes_ += byte_size(t.dtype, t.shape);
      if (const std::uint64_t most = most_copies * file_bytes_ + free_copy_bytes;
          tensor_bytes_ > most)
        fail("tensors that share memory have more than {} bytes in a file of {}", most,
             file_bytes_);
      t.name = name;
      out_.tensors.push_back(std::move(t));
    } catch (const Error& e) {
      fail("{}: {}: {}", file_, quote(name), e.what());
    }
  }

  const PickleValue& item(const PickleValue& v, std::size_t i, PickleKind kind,
                          std::string_view what) const {
    if (i >= v.items.size() || p_[v.items[i]].kind != kind) fail("missing {}", what);
    return p_[v.items[i]];
  }
  Shape numbers(const PickleValue& v, std::size_t i, std::string_view what) const {
    const PickleValue& tuple = item(v, i, PickleKind::tuple, what);
    if (tuple.items.size() > max_rank) fail("expected at most {} dimensions", max_rank);
    Shape out;
    for (std::size_t d = 0; d < tuple.items.size(); ++d) {
      const std::int64_t n = item(tuple, d, PickleKind::integer, what).integer;
      if (n < 0 || n >> 62) fail("{}: {} is out of range", what, n);
      out.push_back(n);
    }
    return out;
  }

  // Adds notes on tied weights and views that share bytes; the bytes of a view may have gaps.
  void note_shared() {
    std::vector<std::size_t> order(out_.tensors.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(out_.tensors[a].begin, a) < std::pair(out_.tensors[b].begin, b);
    });
    std::string first;
    std::size_t shared = 0;
    const TorchTensor* reach = nullptr;  // the tensor with the greatest end so far
    for (const std::size_t i : order) {
      const TorchTensor& t = out_.tensors[i];
      if (t.begin == t.end) continue;
      if (reach && t.begin < reach->end) {
        if (shared++ == 0) first = fmt::format("{} and {}", quote(reach->name), quote(t.name));
      }
      if (!reach || t.end > reach->end) reach = &t;
    }
    if (shared == 0) return;
    out_.notes.push_back(fmt::format(
        "{}{} share memory; a copy has each of them in full", first,
        shared > 1 ? fmt::format(" and {} more pair{}", shared - 1, shared > 2 ? "s" : "") : ""));
  }

  // The tensor that a constructor makes from its arguments.
  TorchTensor tensor(const PickleValue& call, int depth) {
    const TorchGlobal what = global_of(call)->global.what;
    const PickleValue& arguments = p_[call.items[1]];
    // A parameter holds a tensor, but no parameter.
    if (depth > 2) fail("parameters are nested too deeply");
    if (what == TorchGlobal::parameter) {
      const PickleValue& inner = item(arguments, 0, PickleKind::call, "tensor");
      if (!is_tensor(inner)) fail("missing tensor");
      return tensor(inner, depth + 1);
    }
    if (what == TorchGlobal::typed_tensor) {
      // A function and its arguments in a tuple.
      const PickleValue& f = item(arguments, 0, PickleKind::global, "constructor");
      const PickleValue& given = item(arguments, 2, PickleKind::tuple, "arguments");
      return plain(f.global.what, given);
    }
    return plain(what, arguments);
  }

  // "neg" or "conj" if the dict after a tensor's arguments sets it, else "".
  std::string_view computed(std::uint32_t id) {
    const PickleValue& dict = p_[id];
    if (dict.kind != PickleKind::dict) return "";
    const auto [found, is_new] = computed_.try_emplace(id, "");
    for (std::size_t i = 0; is_new && i + 1 < dict.items.size(); i += 2) {
      const PickleValue &k = p_[dict.items[i]], &value = p_[dict.items[i + 1]];
      if (k.kind == PickleKind::text && (k.text == "neg" || k.text == "conj") && value.integer != 0)
        found->second = k.text;
    }
    return found->second;
  }

  TorchTensor plain(TorchGlobal what, const PickleValue& arguments) {
    if (what != TorchGlobal::tensor && what != TorchGlobal::tensor_of_dtype)
      fail("unsupported function: expected one that rebuilds a dense tensor");
    const PickleValue& storage = item(item(arguments, 0, PickleKind::persistent, "storage"), 0,
                                      PickleKind::tuple, "storage");
    // 'storage', its class, the key of its record, a device, the number of elements
    if (item(storage, 0, PickleKind::text, "storage").text != "storage") fail("missing storage");
    const KnownGlobal type = item(storage, 1, PickleKind::global, "storage's type").global;
    if (type.what != TorchGlobal::storage && type.what != TorchGlobal::bytes)
      fail("unknown storage type");
    const std::string_view key = item(storage, 2, PickleKind::text, "storage's key").text;
    const std::int64_t stored = item(storage, 4, PickleKind::integer, "storage's size").integer;
    if (storage.items.size() > 5 && p_[storage.items[5]].kind != PickleKind::none)
      fail("unsupported view of PyTorch before 0.4");

    // Refuses views whose values differ from those of the storage.
    if (arguments.items.size() > most_arguments)
      fail("expected at most {} arguments, got {}", most_arguments, arguments.items.size());
    for (const std::uint32_t id : arguments.items)
      if (const std::string_view changed = computed(id); !changed.empty())
        fail("unsupported computed view (save the result of resolve_{}())", changed);

    TorchTensor t;
    t.dtype = *type.dtype;
    if (what == TorchGlobal::tensor_of_dtype) {
      const KnownGlobal dtype = item(arguments, 6, PickleKind::global, "dtype").global;
      if (dtype.what != TorchGlobal::dtype) fail("unknown dtype");
      t.dtype = *dtype.dtype;
    }
    if (key.size() > max_storage_key_bytes)
      fail("storage key: expected at most {} bytes, got {}", max_storage_key_bytes, key.size());
    const auto at = records_.find(key);
    if (at == records_.end()) fail("storage {} not found in the file", quote(key));
    const std::uint64_t available = at->second.end - at->second.begin,
                        width = static_cast<std::uint64_t>(width_of(t.dtype));
    if (stored < 0 || static_cast<std::uint64_t>(stored) > available / width_of(*type.dtype))
      fail("storage {} of {} elements of {} exceeds its record of {} bytes", quote(key), stored,
           name_of(*type.dtype), available);

    t.shape = numbers(arguments, 2, "shape");
    t.strides = numbers(arguments, 3, "strides");
    if (t.shape.size() != t.strides.size())
      fail("expected as many strides as dimensions, {}, got {}", t.shape.size(), t.strides.size());
    if (const std::uint64_t bytes = byte_size(t.dtype, t.shape); bytes > file_bytes_)
      fail("repeated elements take {} bytes in a file of {}", bytes, file_bytes_);
    const std::int64_t offset = item(arguments, 1, PickleKind::integer, "offset").integer;
    if (offset < 0) fail("expected an offset >= 0, got {}", offset);
    // The last element of the tensor. `available` bounds each step, so that nothing overflows.
    const std::uint64_t room = static_cast<std::uint64_t>(stored) * width_of(*type.dtype) / width;
    std::uint64_t last = static_cast<std::uint64_t>(offset);
    const bool empty = std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end();
    for (std::size_t d = 0; d < t.shape.size() && !empty; ++d) {
      const auto steps = static_cast<std::uint64_t>(t.shape[d] - 1),
                 stride = static_cast<std::uint64_t>(t.strides[d]);
      if (steps != 0 && stride > room / steps)
        last = room;
      else
        last += steps * stride;
      if (last >= room) break;
    }
    if (empty ? last > room : last >= room)
      fail("shape {} with strides {} at element {} exceeds the storage of {} elements",
           to_string(t.shape), to_string(t.strides), offset, room);
    t.begin = at->second.begin + static_cast<std::uint64_t>(offset) * width;
    t.end = empty ? t.begin : at->second.begin + (last + 1) * width;
    return t;
  }

  const Pickle& p_;
  const TorchRecords& records_;
  const std::uint64_t file_bytes_;
  const std::string& file_;
  StateDict out_;
  std::vector<std::uint32_t> counted_;                            // tensors per value
  std::unordered_map<std::uint32_t, std::string_view> computed_;  // of dicts after arguments
  std::uint64_t walked_ = 0, name_bytes_ = 0, tensor_bytes_ = 0;
};

}  // namespace

StateDict read_state_dict(const Pickle& pickle, const TorchRecords& records,
                          std::uint64_t file_bytes, const std::string& file_name) {
  return StateDictReader(pickle, records, file_bytes, file_name).read();
}

}  // namespace sten
