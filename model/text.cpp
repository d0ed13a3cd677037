#include "model/text.h"

#include <vector>

#include "core/files.h"
#include "core/rng.h"

namespace zoetrope {
namespace {

/// Lower-case words: runs of ASCII letters and digits, and of bytes of other scripts.
std::vector<std::string> words_of(const std::string& caption) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : caption) {
    const auto byte = static_cast<unsigned char>(c);
    const bool upper = c >= 'A' && c <= 'Z';
    const bool belongs = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || byte >= 0x80;
    if (belongs && !inside) words.emplace_back();
    if (belongs) words.back() += upper ? char(c - 'A' + 'a') : c;
    inside = belongs;
  }
  return words;
}

/// Adds `scale` times the word's vector of standard normal numbers.
void add_hashed(std::vector<float>& row, const std::string& text, uint64_t seed, float scale) {
  std::vector<float> vector(row.size());
  fill_normal({seed, Purpose::kText, int64_t(fnv1a(text)), 0}, vector.data(), int64_t(vector.size()));
  for (size_t c = 0; c < row.size(); ++c) row[c] += scale * vector[c];
}

void store_row(const Tensor& rows, int64_t index, const std::vector<float>& values) {
  for (size_t c = 0; c < values.size(); ++c) {
    if (rows.dtype() == DType::kF64) rows.row<double>(index)[c] = double(values[c]);
    else if (rows.dtype() == DType::kBF16) rows.row<bf16>(index)[c] = bf16(values[c]);
    else rows.row<float>(index)[c] = values[c];
  }
}

}  // namespace

int64_t count_words(const std::string& caption) { return int64_t(words_of(caption).size()); }

void embed_text(const Tensor& rows, const std::string& caption, uint64_t text_seed) {
  fill_zero(rows);
  std::vector<std::string> words = words_of(caption);
  if (words.empty()) words.push_back("\n");  // the end row; no word holds a line break
  std::string previous;
  for (int64_t i = 0; i < rows.rows() && i < int64_t(words.size()); ++i) {
    const std::string& word = words[size_t(i)];
    std::vector<float> row(size_t(rows.row_size()), 0.0f);
    add_hashed(row, word, text_seed, 1.0f);
    // The pair tells "red on blue" from "blue on red": attention to text sees no order otherwise.
    add_hashed(row, previous + "\n" + word, text_seed, 0.5f);
    store_row(rows, i, row);
    previous = word;
  }
}

}  // namespace zoetrope
