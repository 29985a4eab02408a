// SPDX-License-Identifier: Apache-2.0
// Transposed tiles of 128 tokens by up to 128 features in shared memory, one feature per row.
#pragma once
#include "kernels/block/product/gemm_columns.h"

namespace sten::kernels {

// Contiguous x[rows, cols]; T is float or const float.
template <class T>
struct PackedRows {
  T* x;
  std::int64_t rows, cols;
  bool is_aligned;  // all rows start at multiples of 16 bytes

  PackedRows(T* at, std::int64_t r, std::int64_t c)
      : x(at),
        rows(r),
        cols(c),
        is_aligned(reinterpret_cast<std::uintptr_t>(at) % 16 == 0 && c % 4 == 0) {}

  // Four columns from `col` on; 0 outside of the matrix.
  STEN_DEVICE Floats4 read(std::int64_t row, std::int64_t col) const {
    Floats4 v{};
    if (row >= rows) return v;
    const float* from = x + row * cols + col;
    if (is_aligned && col + 4 <= cols) return *reinterpret_cast<const Floats4*>(from);
    for (int i = 0; i < 4; ++i)
      if (col + i < cols) v.v[i] = from[i];
    return v;
  }
  STEN_DEVICE void write(std::int64_t row, std::int64_t col, const Floats4& v) const {
    if (row >= rows) return;
    float* to = x + row * cols + col;
    if (is_aligned && col + 4 <= cols) {
      *reinterpret_cast<Floats4*>(to) = v;
      return;
    }
    for (int i = 0; i < 4; ++i)
      if (col + i < cols) to[i] = v.v[i];
  }
};

// Rows are tokens; with by_features, rows are features.
template <class T>
struct TokenFloats {
  PackedRows<T> of;
  bool by_features;

  TokenFloats(T* at, std::int64_t tokens, std::int64_t features, bool transposed)
      : of(at, transposed ? features : tokens, transposed ? tokens : features),
        by_features(transposed) {}
  STEN_HOST_DEVICE std::int64_t tokens() const { return by_features ? of.cols : of.rows; }
  STEN_HOST_DEVICE std::int64_t features() const { return by_features ? of.rows : of.cols; }
};

// tile[feature][32] of four tokens each. The four tokens of a lane for a feature are at
// row(feature) ^ lane. This swizzle avoids bank conflicts when a warp reads one feature of all
// tokens, and when each thread writes four features of a token that are neighbours in memory.
struct TransposedTile {
  static constexpr int lanes = 32, tokens = 4 * lanes, most_features = 4 * lanes;

  STEN_HOST_DEVICE static constexpr int row(int feature) { return feature * lanes + feature / 4; }
  // Number of lanes with tokens, from `token` on.
  STEN_HOST_DEVICE static int lanes_of(std::int64_t token, std::int64_t tokens) {
    const std::int64_t left = (tokens - token + 3) / 4;
    return left < lanes ? static_cast<int>(left) : lanes;
  }

  // Loads thread t's share of the tile, for lanes with tokens. features: a multiple of 4.
  template <class Block, class Shared>
  STEN_DEVICE static void load(const Block& b, int t, const TokenFloats<const float>& x,
                               std::int64_t token, std::int64_t feature, int features,
                               Shared& tile) {
    const int used = lanes_of(token, x.tokens()), quads = features / 4;
    if (x.by_features) {
      for (int i = t; i < features * lanes; i += b.threads())
        if (i % lanes < used)
          tile[row(i / lanes) ^ i % lanes] =
              x.of.read(feature + i / lanes, token + 4 * (i % lanes));
      return;
    }
    for (int i = t; i < quads * used; i += b.threads()) {
      const int lane = i / quads, quad = i - lane * quads;
      Floats4 in[4];
      for (int k = 0; k < 4; ++k) in[k] = x.of.read(token + 4 * lane + k, feature + 4 * quad);
      for (int j = 0; j < 4; ++j)
        tile[row(4 * quad + j) ^ lane] = Floats4{{in[0].v[j], in[1].v[j], in[2].v[j], in[3].v[j]}};
    }
  }
  // Stores the tile to y, plus bias[feature] unless it is nullptr.
  template <class Block, class Shared>
  STEN_DEVICE static void store(const Block& b, int t, const Shared& tile, int features,
                                const float* bias, const TokenFloats<float>& y, std::int64_t token,
                                std::int64_t feature) {
    const int used = lanes_of(token, y.tokens()), quads = features / 4;
    const auto bias_of = [&](int i) {
      return feature + i < y.features() ? bias[feature + i] : 0.0f;
    };
    if (y.by_features) {
      for (int i = t; i < features * lanes; i += b.threads()) {
        if (i % lanes >= used) continue;
        Floats4 out = tile[row(i / lanes) ^ i % lanes];
        for (int k = 0; bias && k < 4; ++k) out.v[k] += bias_of(i / lanes);
        y.of.write(feature + i / lanes, token + 4 * (i % lanes), out);
      }
      return;
    }
    for (int i = t; i < quads * used; i += b.threads()) {
      const int lane = i / quads, quad = i - lane * quads;
      Floats4 out[4];
      for (int j = 0; j < 4; ++j) {
        const Floats4 of = tile[row(4 * quad + j) ^ lane];
        const float add = bias ? bias_of(4 * quad + j) : 0.0f;
        for (int k = 0; k < 4; ++k) out[k].v[j] = bias ? of.v[k] + add : of.v[k];
      }
      for (int k = 0; k < 4; ++k) y.of.write(token + 4 * lane + k, feature + 4 * quad, out[k]);
    }
  }
};

}  // namespace sten::kernels
