// The weight-free text embedding: a deterministic hash of words and word pairs, the embedded default.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor.h"

namespace zoetrope {

/// Writes rows [0, text_rows) of one caption: one row per word in order (lower case, punctuation split
/// off), then zero rows; too long a caption keeps its first text_rows words. An empty caption gives one
/// end row, then zeros.
/// Shapes: rows [text_rows, text_width] wide or compute.
void embed_text(const Tensor& rows, const std::string& caption, uint64_t text_seed);

/// Number of words that `embed_text` sees (to warn about cut captions).
int64_t count_words(const std::string& caption);

}  // namespace zoetrope
