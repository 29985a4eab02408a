// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/tensor_use.h"

#include <algorithm>
#include <array>

namespace sten {

bool is_fixed_basis(std::string_view name) {
  constexpr std::array<std::string_view, 5> modules = {"stft", "istft", "mel_scale", "spectrogram",
                                                       "dfl"};
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of("./"), name.size());
    std::string_view part = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    if (std::ranges::find(modules, part) != modules.end()) return true;
    while (!part.empty()) {
      const std::size_t word = std::min(part.find('_'), part.size());
      if (part.substr(0, word) == "basis") return true;
      part.remove_prefix(std::min(word + 1, part.size()));
    }
  }
  return false;
}

}  // namespace sten
