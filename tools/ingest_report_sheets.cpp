// Contact sheets of the page of `zoetrope ingest`: frames of what is trained on, from the tokens.
#include <algorithm>

#include "tools/clip_files.h"
#include "tools/ingest_report.h"
#include "tools/svg.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

constexpr int64_t kBoxHeight = 104, kBoxWidth = 128;
constexpr int kQuality = 5;  // of 2 to 31: no visible blocks at this size

/// Mean luma by BT.709 weights, in percent of white.
double brightness_of(const std::vector<Picture>& pictures) {
  double luma = 0, pixels = 0;
  for (const Picture& picture : pictures)
    for (size_t i = 0; i + 2 < picture.pixels.size(); i += 3, ++pixels)
      luma += 0.2126 * picture.pixels[i] + 0.7152 * picture.pixels[i + 1] + 0.0722 * picture.pixels[i + 2];
  return 100 * luma / (255 * std::max(1.0, pixels));
}

std::string base64(const std::string& bytes) {
  constexpr const char* kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (i + k < bytes.size() ? uint8_t(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? kLetters[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string figure_html(const DatasetSample& sample, const Picture& strip, const std::string& jpeg) {
  const std::string about =
      format_text("%lld frames, %.2f s, %lldx%lld, %s tokens", static_cast<long long>(sample.num_frames),
                  double(sample.num_frames) / sample.fps, static_cast<long long>(sample.width),
                  static_cast<long long>(sample.height), with_commas(sample.num_tokens).c_str());
  return format_text("<figure><img width=\"%lld\" height=\"%lld\" loading=\"lazy\" alt=\"frames of %s\" ",
                     static_cast<long long>(strip.width), static_cast<long long>(strip.height),
                     escape_html(sample.name).c_str()) +
         "src=\"data:image/jpeg;base64," + base64(jpeg) + "\"/><figcaption><b>" + escape_html(sample.name) +
         "</b> <span class=\"soft\">" + about + "</span><br/>" + clipped_html(sample.caption, 160) +
         "</figcaption></figure>\n";
}

}  // namespace

std::string report_sheets_html(const IngestReport& report, const Dataset& dataset, const ReportLimits& limits,
                               std::vector<double>& brightness) {
  const std::vector<int64_t> chosen = evenly_spaced(int64_t(report.samples.size()), limits.strips);
  std::string figures;
  int64_t shown = 0, bytes = 0;
  for (const int64_t sample : chosen) {
    const std::vector<Picture> pictures = first_middle_last(dataset, sample, kBoxHeight, kBoxWidth);
    brightness.push_back(brightness_of(pictures));
    const Picture strip = side_by_side(pictures);
    const std::string jpeg = encode_jpeg(strip, kQuality);
    const int64_t as_text = int64_t(jpeg.size() + 2) / 3 * 4;
    if (bytes + as_text > limits.picture_bytes) continue;
    bytes += as_text;
    ++shown;
    figures += figure_html(report.samples[size_t(sample)], strip, jpeg);
  }
  if (figures.empty()) return "";
  const int64_t all = int64_t(report.samples.size());
  const std::string which =
      shown == all ? "All clips, by path"
                   : with_commas(shown) + " of " + with_commas(all) + " clips, evenly spaced by path" +
                         (shown < int64_t(chosen.size())
                              ? " as far as " + byte_text(limits.picture_bytes) + " of pictures allow"
                              : "");
  return "<h2>What the model sees</h2>\n<p class=\"soft small\">" + which +
         ": first, middle and last frame, made from the tokens in the shards, at most " +
         std::to_string(kBoxWidth) + "x" + std::to_string(kBoxHeight) +
         " pixels each. <code>zoetrope inspect DATASET --export DIR</code> writes every frame in full, "
         "<code>--play DIR</code> plays them.</p>\n<div class=\"strips\">\n" +
         figures + "</div>\n";
}

}  // namespace zoetrope
