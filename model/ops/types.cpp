#include "model/ops/types.h"

#include "core/check.h"

namespace zoetrope {

const char* name_of(AttentionSource source) { return source == AttentionSource::kOwn ? "own" : "cudnn"; }

AttentionSource attention_source_from(const std::string& name) {
  for (const AttentionSource source : {AttentionSource::kOwn, AttentionSource::kCudnn})
    if (name == name_of(source)) return source;
  throw Error(join_message("'attention-kernel' is '", name, "', expected 'own' or 'cudnn'"));
}

}  // namespace zoetrope
