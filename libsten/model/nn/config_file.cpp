// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/config_file.h"

#include "libsten/core/base/text.h"
#include "libsten/files/gguf/config_json.h"
#include "libsten/files/system/data_file.h"

namespace sten {

std::string read_config(const std::string& path) {
  const MappedFile file = open_data(path);
  const std::string name = printable(path);
  std::string text = is_gguf(file.bytes()) ? gguf_config_json(parse_gguf(file.bytes(), name), name)
                                           : std::string(text_of(file.bytes()));
  file.check_unchanged();
  return text;
}

}  // namespace sten
