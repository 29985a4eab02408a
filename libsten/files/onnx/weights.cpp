// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/onnx/weights.h"

#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/onnx/modules.h"
#include "libsten/files/onnx/output_heads.h"
#include "libsten/files/tensors/safetensors.h"

namespace sten {
namespace {

// TensorProto.DataType, by number.
struct OnnxType {
  const char* name;
  std::optional<DType> dtype;
  OnnxStore typed = OnnxStore::none;  // field of elements, if not raw_data
  bool is_signed = false;             // in a field of varints
};
constexpr OnnxType onnx_types[] = {
    {"UNDEFINED", {}},
    {"FLOAT", DType::F32, OnnxStore::float_data},
    {"UINT8", DType::U8, OnnxStore::int32_data},
    {"INT8", DType::I8, OnnxStore::int32_data, true},
    {"UINT16", DType::U16, OnnxStore::int32_data},
    {"INT16", DType::I16, OnnxStore::int32_data, true},
    {"INT32", DType::I32, OnnxStore::int32_data, true},
    {"INT64", DType::I64, OnnxStore::int64_data, true},
    {"STRING", {}},
    {"BOOL", DType::BOOL, OnnxStore::int32_data},
    {"FLOAT16", DType::F16, OnnxStore::int32_data},
    {"DOUBLE", DType::F64, OnnxStore::double_data},
    {"UINT32", DType::U32, OnnxStore::uint64_data},
    {"UINT64", DType::U64, OnnxStore::uint64_data},
    {"COMPLEX64", DType::C64, OnnxStore::float_data},
    {"COMPLEX128", {}},
    {"BFLOAT16", DType::BF16, OnnxStore::int32_data},
    {"FLOAT8E4M3FN", DType::F8_E4M3, OnnxStore::int32_data},
    {"FLOAT8E4M3FNUZ", DType::F8_E4M3FNUZ, OnnxStore::int32_data},
    {"FLOAT8E5M2", DType::F8_E5M2, OnnxStore::int32_data},
    {"FLOAT8E5M2FNUZ", DType::F8_E5M2FNUZ, OnnxStore::int32_data},
    {"UINT4", {}},
    {"INT4", {}},
    {"FLOAT4E2M1", DType::F4},
    {"FLOAT8E8M0", DType::F8_E8M0, OnnxStore::int32_data},
};

// nullptr for an unknown number.
const OnnxType* onnx_type(std::int32_t number) {
  const bool known = number > 0 && static_cast<std::size_t>(number) < std::size(onnx_types);
  return known ? &onnx_types[number] : nullptr;
}

// MatMul always takes [in, out]; Gemm does unless transB is set.
bool takes_in_by_out(const OnnxNode& n) {
  if (n.op_type == "MatMul") return true;
  if (n.op_type != "Gemm") return false;
  const OnnxAttribute* transposed = n.find("transB");
  return !transposed || transposed->integer == 0;
}

// Rotary embeddings multiply positions and frequencies without a sum.
bool is_outer_product(const OnnxNode& n, const Shape& w) {
  return n.op_type == "MatMul" && w.size() > 2 && w[w.size() - 2] == 1;
}

// Whether a Transpose swaps the axes of a matrix, as it does without `perm`.
bool swaps_axes(const OnnxNode& n) {
  const OnnxAttribute* perm = n.find("perm");
  return !perm || perm->integers.empty() || perm->integers.front() == 1;
}

// Stores a value of a typed field in `width` bytes. False if it does not fit.
bool put_number(std::uint64_t v, const OnnxType& type, int width, std::byte* to) {
  if (type.typed == OnnxStore::int32_data) {
    // The low 32 bits, however many are stored.
    const auto narrow = static_cast<std::int32_t>(v & 0xffffffff);
    v = static_cast<std::uint64_t>(std::int64_t{narrow});
  }
  const int bits = 8 * width;
  if (bits < 64) {
    const auto s = static_cast<std::int64_t>(v);
    const std::int64_t end = std::int64_t{1} << (type.is_signed ? bits - 1 : bits);
    if (s >= (*type.dtype == DType::BOOL ? 2 : end) || s < (type.is_signed ? -end : 0))
      return false;
  }
  std::memcpy(to, &v, static_cast<std::size_t>(width));  // little-endian, as in files
  return true;
}

}  // namespace

std::string name_in_checkpoint(std::string_view name) {
  const std::size_t start = name.find_first_not_of('/');
  return std::string(name.substr(start == std::string_view::npos ? 0 : start));
}

OnnxWeights find_onnx_weights(const OnnxGraph& graph, const WireFile& file) {
  OnnxWeights found;
  std::unordered_map<std::string_view, std::size_t> by_name;
  std::vector<bool> listed;
  const auto add = [&](const OnnxTensor& t, std::string_view name, bool is_listed) {
    by_name.emplace(name, found.tensors.size());
    OnnxWeight w;
    w.tensor = &t;
    w.name = name_in_checkpoint(name);
    found.tensors.push_back(std::move(w));
    listed.push_back(is_listed);
  };
  for (const OnnxTensor& t : graph.initializers) add(t, t.name, true);
  for (const OnnxNode& n : graph.nodes) {
    if (n.op_type != "Constant" || !n.is_own() || n.outputs.size() != 1) continue;
    const OnnxAttribute* value = n.find("value");
    if (value && value->tensors.size() == 1) add(value->tensors.front(), n.outputs.front(), false);
  }

  const OnnxNodes nodes = all_nodes(graph, file);
  std::vector<std::string_view> fixed;
  for (const OnnxWeight& w : found.tensors)
    if (is_fixed_basis(w.name)) fixed.push_back(w.tensor->name);
  const std::vector<bool> heads = output_heads(graph, nodes, fixed);
  const OnnxModules modules(graph, nodes);
  std::unordered_set<std::string_view> transposed_copy;  // transposes of one of these matrices
  for (std::size_t k = 0; k < nodes.all.size(); ++k) {
    const OnnxNode& n = *nodes.all[k];
    const auto input = [&](std::size_t i) -> OnnxWeight* {
      const auto at = i < n.inputs.size() ? by_name.find(n.inputs[i]) : by_name.end();
      return at == by_name.end() ? nullptr : &found.tensors[at->second];
    };
    const auto name_result = [&](const OnnxWeight& w) {
      by_name.emplace(n.outputs[0], static_cast<std::size_t>(&w - found.tensors.data()));
    };
    const bool is_one = n.is_own() && n.outputs.size() == 1;
    if (n.op_type == "Gather" && n.is_own()) {
      if (OnnxWeight* w = input(0)) w->use = TensorUse::table;
    } else if (is_one && (n.op_type == "Identity" || n.op_type == "Cast")) {
      if (const OnnxWeight* w = input(0)) {
        name_result(*w);
        if (transposed_copy.contains(n.inputs[0])) transposed_copy.insert(n.outputs[0]);
      }
    } else if (is_one && n.op_type == "Transpose") {
      const OnnxWeight* w = input(0);
      if (!w || w->tensor->dims.size() != 2 || !swaps_axes(n)) continue;
      name_result(*w);
      if (!transposed_copy.contains(n.inputs[0])) transposed_copy.insert(n.outputs[0]);
    } else if (multiplies(n)) {
      OnnxWeight* w = input(1);
      if (!w || w->tensor->dims.size() < 2 || is_outer_product(n, w->tensor->dims)) continue;
      if (w->use != TensorUse::table && w->use != TensorUse::head)
        w->use = heads[k] ? TensorUse::head : TensorUse::weight;
      w->in_by_out |= w->tensor->dims.size() == 2 &&
                      takes_in_by_out(n) != transposed_copy.contains(n.inputs[1]);
      if (w->module.empty() && !w->name.ends_with("weight")) w->module = modules.weight_of(n);
      listed[static_cast<std::size_t>(w - found.tensors.data())] = true;
    }
  }

  std::vector<OnnxWeight> kept;
  std::size_t left_out = graph.sparse_initializers.size();
  std::string first = left_out ? "a sparse one" : "";
  for (std::size_t i = 0; i < found.tensors.size(); ++i) {
    if (!listed[i]) continue;
    OnnxWeight& w = found.tensors[i];
    const OnnxType* type = onnx_type(w.tensor->data_type);
    if (!type) fail("{}: {}: unknown data type {}", file.name, quote(w.name), w.tensor->data_type);
    if (!type->dtype) {
      if (left_out++ == 0) first = fmt::format("{} of {}", quote(w.name), type->name);
      continue;
    }
    w.dtype = *type->dtype;
    kept.push_back(std::move(w));
  }
  found.tensors = std::move(kept);
  if (left_out)
    found.notes.push_back(
        fmt::format("{} of the initializers, such as {}, cannot be read, and {} left out", left_out,
                    first, left_out == 1 ? "is" : "are"));
  return found;
}

DType onnx_dtype(std::int32_t data_type) {
  const OnnxType* type = onnx_type(data_type);
  if (!type) fail("unknown data type {}", data_type);
  if (!type->dtype) fail("unsupported data type {}", type->name);
  return *type->dtype;
}

std::optional<ByteRange> onnx_bytes_in_place(const OnnxTensor& t) {
  if (t.store == OnnxStore::none) return ByteRange();
  const bool fixed = t.store == OnnxStore::float_data || t.store == OnnxStore::double_data;
  if (t.store == OnnxStore::raw_data ||
      (fixed && t.pieces.size() == 1 && onnx_type(t.data_type)->typed == t.store))
    return t.pieces.front();
  return std::nullopt;
}

std::vector<std::byte> decode_onnx(const OnnxTensor& t, DType dtype) {
  const OnnxType& type = *onnx_type(t.data_type);
  if (type.typed != t.store) fail("elements of {} are stored in a field of other types", type.name);
  const std::uint64_t wanted = byte_size(dtype, t.dims);
  std::uint64_t stored = 0;
  for (const ByteRange& p : t.pieces) stored += p.size();
  std::vector<std::byte> out;
  if (t.store == OnnxStore::float_data || t.store == OnnxStore::double_data) {
    if (stored != wanted)
      fail("expected {} bytes for shape {} of {}, got {}", wanted, to_string(t.dims), type.name,
           stored);
    out.reserve(wanted);
    for (const ByteRange& p : t.pieces) out.insert(out.end(), p.begin(), p.end());
    return out;
  }
  const int width = width_of(dtype);
  const std::uint64_t count = wanted / static_cast<std::uint64_t>(width);
  // A number takes at least a byte, so the file bounds the reserved memory.
  if (count > stored) fail("too few bytes for shape {}: got {}", to_string(t.dims), stored);
  out.resize(wanted);
  std::uint64_t n = 0;
  for (ByteRange from : t.pieces) {
    while (!from.empty()) {
      std::uint64_t v = 0;
      if (!take_varint(from, v)) fail("element {} is truncated or too long", n);
      if (n == count) fail("too many elements for shape {}", to_string(t.dims));
      if (!put_number(v, type, width, out.data() + n * static_cast<std::uint64_t>(width)))
        fail("element {} does not fit {}", n, type.name);
      ++n;
    }
  }
  if (n != count) fail("expected {} elements for shape {}, got {}", count, to_string(t.dims), n);
  return out;
}

}  // namespace sten
