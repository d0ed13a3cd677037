#include "model/config.h"

#include "core/check.h"

namespace zoetrope {
namespace {

void require(bool condition, const std::string& message) {
  if (!condition) throw UsageError("config [model] " + message);
}

void require_positive(const char* name, int64_t value) {
  require(value >= 1, join_message(name, " = ", value, ", expected 1 or more"));
}

}  // namespace

void ModelConfig::validate() const {
  require_positive("width", width);
  require_positive("num-layers", num_layers);
  require_positive("num-heads", num_heads);
  require_positive("ffn", ffn);
  require_positive("text-width", text_width);
  require_positive("text-rows", text_rows);
  require_positive("in-channels", in_channels);
  require_positive("out-channels", out_channels);
  require(width % num_heads == 0, join_message("width = ", width, " does not split into num-heads = ",
                                               num_heads, " heads; choose a width that is a multiple of it"));
  require(head_width() % 2 == 0, join_message("width / num-heads = ", head_width(),
                                              " is odd; rotary positions turn pairs, so it must be even"));
  require(frequency_width >= 2 && frequency_width % 2 == 0,
          join_message("frequency-width = ", frequency_width, ", expected an even number of 2 or more"));
  require(patch.size() == 3,
          join_message("patch holds ", patch.size(), " numbers, expected three: (t, h, w)"));
  for (int64_t extent : patch) require_positive("patch", extent);
  require(epsilon > 0 && epsilon < 1, join_message("epsilon = ", epsilon, ", expected a number in (0, 1)"));
}

Precision Precision::from_name(const std::string& name) {
  if (name == "f32") return {DType::kF32, DType::kF32};
  if (name == "bf16") return {DType::kBF16, DType::kF32};
  throw UsageError("precision '" + name + "': expected f32 or bf16");
}

}  // namespace zoetrope
