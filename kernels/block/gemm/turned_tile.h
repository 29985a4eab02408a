// Tiles of rows of tokens, turned in shared memory: 128 tokens x up to 128 features.
#pragma once
#include "kernels/block/product/gemm_columns.h"

namespace sten::kernels {

// x[tokens, features], rows one after the other; T is float or const float.
template <class T>
struct TokenRows {
  T* x;
  std::int64_t tokens, features;
  bool is_aligned;  // all rows begin at multiples of 16 bytes

  TokenRows(T* at, std::int64_t t, std::int64_t f)
      : x(at),
        tokens(t),
        features(f),
        is_aligned(reinterpret_cast<std::uintptr_t>(at) % 16 == 0 && f % 4 == 0) {}

  // Four features from one on; 0 beyond the matrix.
  STEN_DEVICE Floats4 read(std::int64_t token, std::int64_t feature) const {
    Floats4 v{};
    if (token >= tokens) return v;
    const float* from = x + token * features + feature;
    if (is_aligned && feature + 4 <= features) return *reinterpret_cast<const Floats4*>(from);
    for (int i = 0; i < 4; ++i)
      if (feature + i < features) v.v[i] = from[i];
    return v;
  }
  STEN_DEVICE void write(std::int64_t token, std::int64_t feature, const Floats4& v) const {
    if (token >= tokens) return;
    float* to = x + token * features + feature;
    if (is_aligned && feature + 4 <= features) {
      *reinterpret_cast<Floats4*>(to) = v;
      return;
    }
    for (int i = 0; i < 4; ++i)
      if (feature + i < features) to[i] = v.v[i];
  }
};

// tile[feature][32] of four tokens each. A lane has its four tokens of a feature at
// row(feature) ^ lane. So the threads of a warp use all banks of shared memory alike, both where
// they read a feature of all tokens, and where each has four features of some tokens, which lie
// together in memory.
struct TurnedTile {
  static constexpr int lanes = 32, tokens = 4 * lanes, most_features = 4 * lanes;

  STEN_HOST_DEVICE static constexpr int row(int feature) { return feature * lanes + feature / 4; }

  // How many lanes have tokens from this one on.
  STEN_HOST_DEVICE static int lanes_of(std::int64_t token, std::int64_t tokens) {
    const std::int64_t left = (tokens - token + 3) / 4;
    return left < lanes ? static_cast<int>(left) : lanes;
  }

  // What thread t brings of the tokens and features from these on, for lanes that have tokens;
  // features: a multiple of 4.
  template <class Block, class Shared>
  STEN_DEVICE static void load(const Block& b, int t, const TokenRows<const float>& x,
                               std::int64_t token, std::int64_t feature, int features,
                               Shared& tile) {
    const int quads = features / 4, all = quads * lanes_of(token, x.tokens);
    for (int i = t; i < all; i += b.threads()) {
      const int lane = i / quads, quad = i - lane * quads;
      Floats4 in[4];
      for (int k = 0; k < 4; ++k) in[k] = x.read(token + 4 * lane + k, feature + 4 * quad);
      for (int j = 0; j < 4; ++j)
        tile[row(4 * quad + j) ^ lane] = Floats4{{in[0].v[j], in[1].v[j], in[2].v[j], in[3].v[j]}};
    }
  }
  // The way back, plus bias[feature] if there is one.
  template <class Block, class Shared>
  STEN_DEVICE static void store(const Block& b, int t, const Shared& tile, int features,
                                const float* bias, const TokenRows<float>& y, std::int64_t token,
                                std::int64_t feature) {
    const int quads = features / 4, all = quads * lanes_of(token, y.tokens);
    for (int i = t; i < all; i += b.threads()) {
      const int lane = i / quads, quad = i - lane * quads;
      Floats4 out[4], add{};
      for (int j = 0; j < 4; ++j) {
        const Floats4 of = tile[row(4 * quad + j) ^ lane];
        for (int k = 0; k < 4; ++k) out[k].v[j] = of.v[k];
      }
      if (bias)
        for (int j = 0; j < 4; ++j)
          if (feature + 4 * quad + j < y.features) add.v[j] = bias[feature + 4 * quad + j];
      for (int k = 0; k < 4; ++k) {
        for (int j = 0; bias && j < 4; ++j) out[k].v[j] += add.v[j];
        y.write(token + 4 * lane + k, feature + 4 * quad, out[k]);
      }
    }
  }
};

}  // namespace sten::kernels
