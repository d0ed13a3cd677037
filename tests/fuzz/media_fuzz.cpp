// A media file through all that ingest does with a clip, with limits so low that each input takes
// milliseconds: refused, or tokens of the size that the clip says.
#include <cstdlib>

#include "core/check.h"
#include "tests/fuzz/fuzz.h"
#include "video/ingest/ready_clip.h"
#include "video/media/decode_tokens.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zoetrope;
  DecodeRules rules;
  rules.size.area = 32 * 32;
  rules.max_seconds = 2;
  rules.limits = {2000, 200, 1 << 16, 1, 4};
  rules.max_clip_bytes = 1 << 20;
  for (DecodedTokens& decoded : decode_tokens(fuzz::file_of(data, size), rules, {{}, {{1, 2}, {3, 2}}})) {
    if (decoded.undecided) continue;
    ReadyClip ready;
    ready.entry.name = "clip";
    decide(decoded, rules, ready);
    if (ready.entry.refused() && ready.entry.reason.empty()) std::abort();
    if (!ready.entry.refused() && ready.tokens.num_tokens() != ready.tokens.tokens.rows()) std::abort();
    if (manifest_line(parse_manifest_line(manifest_line(ready.entry), "line")) != manifest_line(ready.entry))
      std::abort();
  }
  return 0;
}
