// A shard file: refused, or all of its samples are read.
#include "core/check.h"
#include "tests/fuzz/fuzz.h"
#include "video/store/shard.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zoetrope;
  try {
    const ShardReader shard(fuzz::file_of(data, size));
    const Patch& patch = shard.patch();
    for (size_t i = 0; i < shard.samples().size(); ++i) {
      const int64_t count = shard.samples()[i].num_tokens;
      const Tensor rows = Tensor::empty({count, 3 * patch.t * patch.h * patch.w}, DType::kU8);
      shard.read_tokens(int64_t(i), 0, count, rows);
      shard.read_sources(int64_t(i));
    }
  } catch (const Error&) {}
  return 0;
}
