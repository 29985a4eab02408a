// SPDX-License-Identifier: Apache-2.0
// Unicode normalization forms: NFC, NFD, NFKC and NFKD (Unicode 9, as Hugging Face's tokenizers).
#pragma once
#include <string>
#include <string_view>

namespace sten {

struct UnicodeForm {
  bool compose = true, compatible = false;
};

std::string in_form(std::string_view text, UnicodeForm form);

}  // namespace sten
