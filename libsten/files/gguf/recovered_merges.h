// SPDX-License-Identifier: Apache-2.0
// Merges of a SentencePiece vocabulary, which lists tokens only.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sten {

// Each split of a token into two tokens is a merge (ids of the left and the right token). Merges of
// tokens with a higher score come first; of one score, those with longer parts, then with smaller
// ids: the order of generate_merges() in transformers. `tokens`: UTF-8; of tokens with one text, the
// last one counts. Splits are between characters.
std::vector<std::pair<std::size_t, std::size_t>> recovered_merges(
    const std::vector<std::string>& tokens, const std::vector<double>& scores);

}  // namespace sten
