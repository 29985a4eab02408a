// SPDX-License-Identifier: Apache-2.0
// Translators of attention and of rotary position embedding.
#include <limits>

#include "libsten/core/base/error.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

ValueRef reshaped(OnnxCall& c, ValueRef x, Attributes::List shape) {
  return c.add("reshape", {x}, Attributes().set("shape", std::move(shape)).set("copy-zeros", 1));
}
ValueRef transposed_tokens(OnnxCall& c, ValueRef x) {
  return c.add("transpose", {x}, Attributes().set("axes", Attributes::List{0, 2, 1, 3}));
}
// An extent of input i, which translation needs.
Index known_extent(const OnnxCall& c, std::size_t i, std::size_t axis) {
  const Extent e = c.shape(i)[axis];
  if (!e.is_known()) fail("axis {} of input {} must be known at import", axis, i);
  return e.number;
}

// [batch, heads, tokens, width] to [batch, tokens, heads * width], and back.
ValueRef merged_heads(OnnxCall& c, std::size_t i) {
  if (c.shape(i).size() != 4) fail("input {}: expected 4 axes, got {}", i, c.shape(i).size());
  const Index features =
      c.builder.extents.product({known(known_extent(c, i, 1)), known(known_extent(c, i, 3))})
          .number;
  return reshaped(c, transposed_tokens(c, c.in(i)), {0, 0, features});
}
ValueRef split_heads(OnnxCall& c, ValueRef x, Index heads) {
  const Extent features = c.builder[x].shape->back();
  const Index width =
      features.is_known() && features.number % heads == 0 ? features.number / heads : Index{-1};
  return transposed_tokens(c, reshaped(c, x, {0, 0, heads, width}));
}

// An input with heads.
struct HeadsInput {
  std::size_t input;
  Index heads;
  bool is_split;  // [batch, heads, tokens, width], otherwise [batch, tokens, heads * width]

  HeadsInput(OnnxCall& c, std::size_t i, std::string_view attribute) : input(i) {
    const std::size_t rank = c.shape(i).size();
    if (rank != 3 && rank != 4) fail("input {}: expected 3 or 4 axes, got {}", i, rank);
    is_split = rank == 4;
    heads = c.integer(attribute, 0);
    if (!is_split && heads == 0) fail("missing attribute {}, which 3 axes need", attribute);
    if (is_split) {
      const Index own = known_extent(c, i, 1);
      if (heads != 0 && heads != own)
        fail("attribute {} is {}: expected the {} heads of input {}", attribute, heads, own, i);
      heads = own;
    }
  }
  ValueRef merged(OnnxCall& c) const { return is_split ? merged_heads(c, input) : c.in(input); }
};

// Where the elements of `visible` are false: -inf; elsewhere 0.
ValueRef hiding_bias(OnnxCall& c, ValueRef visible, DType dtype) {
  const ValueRef bias =
      c.add("where", {visible, c.builder.add_scalar(0),
                      c.builder.add_scalar(-std::numeric_limits<float>::infinity())});
  return dtype == DType::F32
             ? bias
             : c.add("cast", {bias}, Attributes().set("to", std::string(name_of(dtype))));
}

// The numbers of keys before and after its own position that a query sees; below 0: all of them.
struct Window {
  Index left, right;

  explicit Window(OnnxCall& c)
      : left(c.integer("left_window_size", -1)), right(c.integer("right_window_size", -1)) {
    if (c.integer("is_causal", 0) != 0) right = 0;
  }
};

// A bias of the scores that hides keys outside the window. Query i has the position i + `earlier`,
// by default i.
ValueRef window_bias(OnnxCall& c, const Window& window, ValueRef q, ValueRef k,
                     std::optional<ValueRef> earlier, DType dtype) {
  const auto tokens = [&](ValueRef x) {
    return c.add("shape", {x}, Attributes().set("begin", 1).set("end", 2));
  };
  const ValueRef extents =
      c.add("concat", {tokens(q), tokens(k)}, Attributes().set("axis", Index{0}));
  ValueRef seen = c.add("constant-of-shape", {extents, c.builder.add_integers({1})});
  const auto cut = [&](Index diagonal, Index upper) {
    Attributes a = Attributes().set("upper", upper);
    std::vector<ValueRef> in{seen};
    if (earlier)
      in.push_back(c.add("add", {*earlier, c.builder.add_integers({diagonal})}));
    else
      a.set("k", diagonal);
    seen = c.add("trilu", std::move(in), std::move(a));
  };
  if (window.right >= 0) cut(window.right, 0);
  if (window.left >= 0) cut(-window.left, 1);
  return hiding_bias(
      c, c.add("cast", {seen}, Attributes().set("to", std::string(name_of(DType::BOOL)))), dtype);
}

// Earlier keys and values come before the new ones. With as many queries as new keys, causal
// attention is that of sten, whose last query sees all keys.
void attention(OnnxCall& c) {
  const HeadsInput q(c, 0, "q_num_heads"), k(c, 1, "kv_num_heads"), v(c, 2, "kv_num_heads");
  const DType dtype = c.dtype(0);
  if (dtype != DType::F32 && dtype != DType::F64) fail("unsupported data type {}", name_of(dtype));
  if (v.heads != k.heads) fail("expected as many heads of v as of k, {}, got {}", k.heads, v.heads);
  if (c.has(6)) fail("unsupported input nonpad_kv_seqlen");
  if (c.has(4) != c.has(5)) fail("missing input {}", c.has(4) ? 5 : 4);
  const ValueRef queries = q.merged(c);
  ValueRef keys = k.merged(c), values = v.merged(c);
  const ExtentList &from = c.shape(0), &to = c.shape(1);
  const bool is_square = from[from.size() - 2] == to[to.size() - 2] && q.is_split == k.is_split;
  std::optional<ValueRef> earlier;
  if (c.has(4)) {
    const auto joined = [&](std::size_t past, ValueRef x) {
      return c.add("concat", {merged_heads(c, past), x}, Attributes().set("axis", Index{1}));
    };
    keys = joined(4, keys);
    values = joined(5, values);
    earlier = c.add("shape", {c.in(4)}, Attributes().set("begin", 2).set("end", 3));
  }

  Attributes a = Attributes().set("heads", q.heads);
  if (k.heads != q.heads) a.set("kv_heads", k.heads);
  if (c.has_attribute("scale")) a.set("scale", c.number("scale", 1));
  if (const double cap = c.number("softcap", 0); cap > 0) a.set("soft_cap", cap);
  const Window window(c);
  std::optional<ValueRef> bias;
  if (c.has(3)) bias = c.dtype(3) == DType::BOOL ? hiding_bias(c, c.in(3), dtype) : c.in(3);
  if (window.right == 0 && is_square) {
    a.set("causal", Index{1});
    if (window.left >= 0) a.set("window", window.left + 1);
  } else if (window.left >= 0 || window.right >= 0) {
    const ValueRef hiding = window_bias(c, window, queries, keys, earlier, dtype);
    bias = bias ? c.add("add", {*bias, hiding}) : hiding;
  }

  std::vector<ValueRef> in{queries, keys, values};
  if (bias) in.push_back(*bias);
  const ValueRef y = c.add("attention", std::move(in), std::move(a));
  c.set(0, q.is_split ? split_heads(c, y, q.heads) : y);
  if (c.wants(1)) c.set(1, split_heads(c, keys, k.heads));
  if (c.wants(2)) c.set(2, split_heads(c, values, v.heads));
}

// Cosines and sines are given per token, or as tables that positions index. Halves of a head's
// rotated features, or neighbours, are rotated along an axis of 2.
void rotary_embedding(OnnxCall& c) {
  const std::size_t rank = c.shape(0).size();
  const HeadsInput x(c, 0, "num_heads");
  const Index size = known_extent(c, 0, rank - 1) / (x.is_split ? 1 : x.heads);
  const Index all = c.integer("rotary_embedding_dim", 0), rotated = all == 0 ? size : all;
  if (rotated % 2 != 0 || rotated > size)
    fail("expected an even number of rotated features up to {}, got {}", size, rotated);
  const bool is_interleaved = c.integer("interleaved", 0) != 0;
  const Index axis = is_interleaved ? 4 : 3, pairs = rotated / 2;
  const auto part = [&](ValueRef v, Index along, Index begin, Index end) {
    return c.add("slice", {v}, Attributes().set("axis", along).set("begin", begin).set("end", end));
  };
  const auto angles = [&](std::size_t i) {
    const ValueRef of_tokens =
        c.has(3) ? c.add("gather", {c.in(i), c.in(3)}, Attributes().set("axis", Index{0}))
                 : c.in(i);
    return c.add("unsqueeze", {of_tokens},
                 Attributes().set("axes", Attributes::List{x.is_split ? 1 : 2, axis}));
  };
  const ValueRef heads = x.is_split ? c.in(0) : reshaped(c, c.in(0), {0, 0, x.heads, size});
  const ValueRef turning = rotated < size ? part(heads, 3, 0, rotated) : heads;
  const ValueRef parted = reshaped(
      c, turning,
      is_interleaved ? Attributes::List{0, 0, 0, pairs, 2} : Attributes::List{0, 0, 0, 2, pairs});
  const ValueRef a = part(parted, axis, 0, 1), b = part(parted, axis, 1, 2);
  const ValueRef cos = angles(1), sin = angles(2);
  const auto product = [&](ValueRef u, ValueRef w) { return c.add("mul", {u, w}); };
  const ValueRef first = c.add("sub", {product(a, cos), product(b, sin)});
  const ValueRef second = c.add("add", {product(a, sin), product(b, cos)});
  ValueRef y = reshaped(c, c.add("concat", {first, second}, Attributes().set("axis", axis)),
                        {0, 0, 0, rotated});
  if (rotated < size)
    y = c.add("concat", {y, part(heads, 3, rotated, size)}, Attributes().set("axis", Index{3}));
  c.set(0, x.is_split ? y : reshaped(c, y, {0, 0, x.heads * size}));
}

}  // namespace

void add_attention_translators(OnnxTranslators& all) {
  const OnnxTranslators these{{"Attention", attention}, {"RotaryEmbedding", rotary_embedding}};
  all.insert(these.begin(), these.end());
}

}  // namespace sten
