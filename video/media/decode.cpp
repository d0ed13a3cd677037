#include "video/media/decode.h"

#include <new>
#include <optional>

#include "core/check.h"
#include "video/media/file_decoder.h"

namespace zoetrope {
namespace {

/// The same refusal for every window.
std::vector<DecodedClip> refuse_all(const std::string& reason, const SourceFacts& facts, size_t count) {
  DecodedClip refused;
  refused.refused = reason;
  refused.facts = facts;
  return std::vector<DecodedClip>(count, refused);
}

}  // namespace

std::vector<DecodedClip> decode_file(const std::string& path, const DecodeRules& rules,
                                     const std::vector<Window>& windows) {
  const std::vector<Window> all = windows.empty() ? std::vector<Window>{{}} : windows;
  std::optional<FileDecoder> decoder;
  const auto refuse = [&](const std::string& reason) {
    return refuse_all(reason, decoder ? decoder->facts() : SourceFacts{}, all.size());
  };
  try {
    decoder.emplace(path, rules, all);
    decoder->run();
    return decoder->results();
  } catch (const Error& error) { return refuse(error.what()); } catch (const std::bad_alloc&) {
    return refuse("out of memory while decoding; lower --workers, --max-seconds or --area");
  }
}

}  // namespace zoetrope
