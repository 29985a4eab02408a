// SPDX-License-Identifier: Apache-2.0
// Fuzz target: ONNX models.
#include "libsten/files/onnx/weights.h"
#include "libsten/files/tensors/safetensors.h"
#include "tests/fuzz/fuzz.h"

namespace {

void check_range(sten::ByteRange range, sten::ByteRange file) {
  if (range.empty()) return;
  if (range.data() < file.data() || range.size() > file.size() ||
      range.data() - file.data() > static_cast<std::ptrdiff_t>(file.size() - range.size()))
    sten::fuzz::broken("a range is not in the file");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sten;
  const ByteRange file{reinterpret_cast<const std::byte*>(data), size};
  fuzz::accepted([&] {
    const OnnxModel model = read_onnx_model(file, "input");
    const WireFile whole{file, "input"};
    for (const OnnxNode& n : model.graph.nodes)
      for (const OnnxAttribute& a : n.attributes)
        for (const ByteRange g : a.graphs) {
          check_range(g, file);
          fuzz::accepted([&] { (void)read_onnx_graph(g, whole); });
        }
    for (const OnnxWeight& w : find_onnx_weights(model.graph, whole).tensors) {
      for (const ByteRange p : w.tensor->pieces) check_range(p, file);
      if (w.tensor->store == OnnxStore::external || onnx_bytes_in_place(*w.tensor)) continue;
      fuzz::accepted([&] {
        if (decode_onnx(*w.tensor, w.dtype).size() != byte_size(w.dtype, w.tensor->dims))
          fuzz::broken("a tensor has other bytes than its shape says");
      });
    }
  });
  return 0;
}
