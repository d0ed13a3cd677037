#include "video/media/decode.h"

#include <new>
#include <optional>

#include "core/check.h"
#include "video/media/decode_tokens.h"
#include "video/media/file_decoder.h"

namespace zoetrope {
namespace {

/// The same refusal for every window.
std::vector<DecodedTokens> refuse_all(const std::string& reason, const SourceFacts& facts, size_t count) {
  DecodedTokens refused;
  refused.refused = reason;
  refused.facts = facts;
  refused.found_damage = facts.damaged > 0;
  return std::vector<DecodedTokens>(count, refused);
}

std::vector<DecodedTokens> refuse_as_damaged(std::vector<DecodedTokens> clips) {
  for (DecodedTokens& clip : clips) clip.found_damage = true;
  return clips;
}

std::vector<DecodedTokens> leave_undecided(const std::string& reason, size_t count) {
  DecodedTokens undecided;
  undecided.refused = reason;
  undecided.undecided = true;
  return std::vector<DecodedTokens>(count, undecided);
}

std::vector<DecodedTokens> decode_as(FrameKind kind, const MediaLocation& location, const DecodeRules& rules,
                                     const std::vector<Window>& windows, const FrameObserver& observe,
                                     const OpenTokenSink& open_sink) {
  const std::vector<Window> all = windows.empty() ? std::vector<Window>{{}} : windows;
  std::optional<FileDecoder> decoder;
  const auto refuse = [&](const std::string& reason) {
    return refuse_all(reason, decoder ? decoder->facts() : SourceFacts{}, all.size());
  };
  try {
    decoder.emplace(location, rules, all, observe, kind, open_sink);
    if (!decoder->run_sparse()) {
      if (decoder->has_read()) {
        decoder.reset();  // and with it what its sink has
        decoder.emplace(location, rules, all, observe, kind, open_sink);
      }
      decoder->run();
    }
    return decoder->results();
  } catch (const Undecided& error) {
    return leave_undecided(error.what(), all.size());
  } catch (const DamagedFile& error) {
    return refuse_as_damaged(refuse(error.what()));
  } catch (const Error& error) { return refuse(error.what()); } catch (const std::bad_alloc&) {
    // What a file may ask for is checked before; so this says something about the machine.
    return leave_undecided("out of memory while decoding; lower --workers, --max-seconds or --area",
                           all.size());
  }
}

}  // namespace

std::vector<DecodedClip> decode_file(const MediaLocation& location, const DecodeRules& rules,
                                     const std::vector<Window>& windows, const FrameObserver& observe) {
  std::vector<DecodedClip> out;
  for (DecodedTokens& each : decode_as(FrameKind::kPictures, location, rules, windows, observe, {}))
    out.push_back(std::move(each));
  return out;
}

std::vector<DecodedTokens> decode_tokens(const MediaLocation& location, const DecodeRules& rules,
                                         const std::vector<Window>& windows, const FrameObserver& observe,
                                         const OpenTokenSink& open_sink) {
  return decode_as(FrameKind::kTokens, location, rules, windows, observe, open_sink);
}

}  // namespace zoetrope
