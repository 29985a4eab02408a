// SPDX-License-Identifier: Apache-2.0
// Fuzz target: GGUF files: headers, decoded tensors, and the files of their metadata.
#include "libsten/core/base/json.h"
#include "libsten/core/tensor/values.h"
#include "libsten/files/gguf/config_json.h"
#include "libsten/files/gguf/decoding.h"
#include "libsten/files/gguf/gguf_file.h"
#include "libsten/files/gguf/model_tensors.h"
#include "libsten/files/gguf/tokenizer_json.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace sten;

void decode(const GgufModelTensor& t, std::span<const std::byte> bytes) {
  const Values values = decode_gguf(bytes.subspan(t.begin, t.end - t.begin), t.shape, t.storage);
  if (values.size() != size_of(t.shape))
    fuzz::broken("decoding changes how many elements they are");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  fuzz::accepted([&] {
    if (!is_gguf(bytes)) return;
    const GgufFile f = parse_gguf(bytes, "input");
    fuzz::accepted([&] {
      for (const GgufModelTensor& t : gguf_model_tensors(f, "input")) {
        if (t.begin > t.end || t.end > size) fuzz::broken("a tensor is not in the file");
        fuzz::accepted([&] { decode(t, bytes); });
      }
    });
    fuzz::accepted([&] {
      if (!is_json(gguf_config_json(f, "input"))) fuzz::broken("config.json is not JSON");
    });
    fuzz::accepted([&] {
      (void)gguf_tokenizer_json(f, "input");
      if (!is_json(gguf_tokenizer_config_json(f, "input")))
        fuzz::broken("tokenizer_config.json is not JSON");
    });
  });
  return 0;
}
