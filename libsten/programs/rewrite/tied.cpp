// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/rewrite/tied.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "libsten/core/base/random.h"

namespace sten {
namespace {

// A key that equal tensors share: dtype, shape, layout and a sample of the bytes.
std::string fingerprint(const Checkpoint& c, const CheckpointTensor& t) {
  std::string text =
      t.layout.str() + std::string(name_of(t.dtype)) + to_string(t.shape) + to_string(t.strides);
  if (t.gguf) text += std::string(t.gguf->type->name) + std::to_string(int(t.gguf->change));
  constexpr std::size_t samples = 64;
  std::uint64_t hash = 0;
  for (const SafetensorsEntry& e : t.entries) {
    const auto data = c.bytes(t, e);
    for (std::size_t k = 0; k < samples && !data.empty(); ++k) {
      std::uint64_t word = 0;
      const std::size_t at = data.size() / samples * k;
      std::memcpy(&word, data.data() + at, std::min<std::size_t>(sizeof(word), data.size() - at));
      hash = mix_bits(hash ^ word);
    }
  }
  return text + "#" + std::to_string(hash);
}

bool equal(const Checkpoint& c, const CheckpointTensor& a, const CheckpointTensor& b) {
  for (std::size_t p = 0; p < a.entries.size(); ++p) {
    const auto x = c.bytes(a, a.entries[p]), y = c.bytes(b, b.entries[p]);
    if (x.size() != y.size()) return false;
    // In segments, so that two large tensors are never in memory as a whole.
    constexpr std::size_t piece = std::size_t{16} << 20;
    for (std::size_t at = 0; at < x.size(); at += piece) {
      const std::size_t n = std::min(piece, x.size() - at);
      if (std::memcmp(x.data() + at, y.data() + at, n) != 0) return false;
      c.drop(a);
      c.drop(b);
    }
  }
  return true;
}

}  // namespace

std::vector<std::size_t> first_equals(const Checkpoint& c, const std::vector<std::size_t>& chosen) {
  std::vector<std::size_t> first(c.tensors().size());
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = i;
  std::map<std::string, std::vector<std::size_t>> alike;
  for (const std::size_t i : chosen) {
    const CheckpointTensor& t = c.tensors()[i];
    if (t.bytes() == 0) continue;
    auto& candidates = alike[fingerprint(c, t)];
    for (const std::size_t before : candidates)
      if (equal(c, c.tensors()[before], t)) {
        first[i] = before;
        break;
      }
    if (first[i] == i) candidates.push_back(i);
    c.drop(t);
  }
  return first;
}

bool equals_transposed(const Checkpoint& c, const CheckpointTensor& a, const CheckpointTensor& b) {
  if (a.is_sparse() || b.is_sparse() || a.dtype != b.dtype || a.shape.size() != 2 ||
      a.shape != Shape(b.shape.rbegin(), b.shape.rend()))
    return false;
  const Dense x = c.load(a).to_dense(), y = c.load(b).to_dense();
  const auto width = static_cast<std::size_t>(width_of(a.dtype));
  const Index rows = a.shape[0], cols = a.shape[1];
  constexpr Index block = 64;  // rows of b that stay in cache
  bool is_equal = width > 0 && x.size() > 0;
  for (Index begin = 0; is_equal && begin < cols; begin += block)
    for (Index r = 0; is_equal && r < rows; ++r)
      for (Index k = begin; is_equal && k < std::min(begin + block, cols); ++k)
        is_equal =
            std::memcmp(x.values.bytes().data() + static_cast<std::size_t>(r * cols + k) * width,
                        y.values.bytes().data() + static_cast<std::size_t>(k * rows + r) * width,
                        width) == 0;
  c.drop(a);
  c.drop(b);
  return is_equal;
}

}  // namespace sten
