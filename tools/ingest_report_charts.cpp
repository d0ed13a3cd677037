// Histograms of the page of `zoetrope ingest`.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "tools/ingest_report.h"
#include "tools/svg.h"
#include "tools/svg_small.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

constexpr size_t kMostBars = 8;

std::string chart(const std::string& title, const std::string& note, const std::string& svg) {
  if (svg.empty()) return "";
  return "<div><h3>" + escape_html(title) + "</h3><p class=\"soft\">" + escape_html(note) + "</p>" + svg +
         "</div>\n";
}

std::string values_chart(const std::string& title, const std::vector<double>& values, bool whole,
                         const std::string& unit) {
  if (values.empty()) return "";
  return chart(title, spread_text(values, unit), small_histogram_svg(values, whole, unit, "clips"));
}

std::string names_chart(const std::string& title, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  const auto bars = most_common(names, kMostBars);
  const size_t different = std::set<std::string>(names.begin(), names.end()).size();
  return chart(title, different == 1 ? "all alike" : with_commas(int64_t(different)) + " different ones",
               category_bars_svg(bars, "clips"));
}

std::string size_text(int64_t width, int64_t height) {
  return format_text("%lldx%lld", static_cast<long long>(width), static_cast<long long>(height));
}

/// "1.78 wide" is 16:9; the names of the usual ones help.
std::string aspect_text(double aspect) {
  constexpr struct {
    double value;
    const char* name;
  } kUsual[] = {{16.0 / 9, "16:9"}, {4.0 / 3, "4:3"}, {3.0 / 2, "3:2"},  {1, "1:1"},
                {2.0 / 3, "2:3"},   {3.0 / 4, "3:4"}, {9.0 / 16, "9:16"}};
  for (const auto& usual : kUsual)
    if (std::abs(aspect / usual.value - 1) < 0.02) return format_text("%s (%.2f)", usual.name, usual.value);
  return format_text("%.1f", aspect);
}

int64_t count_words(const std::string& text) {
  int64_t words = 0;
  bool inside = false;
  for (const char c : text) {
    words += c != ' ' && !inside;
    inside = c != ' ';
  }
  return words;
}

/// What trained clips are like.
std::string kept_charts(const IngestReport& report, const std::vector<double>& brightness) {
  std::vector<double> seconds, frames, tokens, words;
  std::vector<std::string> sizes, aspects;
  for (const DatasetSample& sample : report.samples) {
    seconds.push_back(double(sample.num_frames) / sample.fps);
    frames.push_back(double(sample.num_frames));
    tokens.push_back(double(sample.num_tokens));
    words.push_back(double(count_words(sample.caption)));
    sizes.push_back(size_text(sample.width, sample.height));
    aspects.push_back(aspect_text(double(sample.width) / double(sample.height)));
  }
  const bool all_shown = brightness.size() == report.samples.size();
  const bool is_scored = std::any_of(report.scores.begin(), report.scores.end(),
                                     [](const auto& scores) { return scores.count("brightness") > 0; });
  return values_chart("Length in seconds", seconds, false, "s") +
         values_chart("Length in frames", frames, true, "frames") +
         values_chart("Tokens of a clip", tokens, true, "tokens") + names_chart("Frame size", sizes) +
         names_chart("Aspect, width by height", aspects) +
         values_chart("Caption length", words, true, "words") +
         values_chart(all_shown ? "Brightness" : "Brightness of the clips shown below",
                      is_scored ? std::vector<double>{} : brightness, false, "%");
}

/// What the usual scores are called on a page.
struct ScoreTitle {
  const char *name, *title, *unit;
};
constexpr ScoreTitle kScoreTitles[] = {
    {"motion", "Motion", "levels of 255 per second"},
    {"frozen", "Frozen, share of the time", ""},
    {"brightness", "Brightness", "levels of 255"},
    {"contrast", "Contrast", "levels of 255"},
    {"black", "Black, share of the frames", ""},
    {"sharpness", "Sharpness", "variance of the Laplacian"},
    {"letterbox", "Dark bars, share of the picture", ""},
    {"combed", "Combed lines, share of the pixels", ""},
};

/// Scores of the manifest, whatever they are called.
std::string score_charts(const IngestReport& report) {
  std::set<std::string> names;
  for (const auto& scores : report.scores)
    for (const auto& [name, value] : scores) names.insert(name);
  std::string html;
  for (const std::string& name : names) {
    std::vector<double> values;
    for (const auto& scores : report.scores)
      if (const auto found = scores.find(name); found != scores.end() && std::isfinite(found->second))
        values.push_back(found->second);
    const auto* known = std::find_if(std::begin(kScoreTitles), std::end(kScoreTitles),
                                     [&](const ScoreTitle& title) { return title.name == name; });
    if (known != std::end(kScoreTitles)) html += values_chart(known->title, values, false, known->unit);
    else html += values_chart("Score: " + name, values, false, "");
  }
  return html;
}

/// What the source files are like, refused ones too where something is known of them.
std::string source_charts(const IngestReport& report) {
  std::vector<double> seconds, lost;
  std::vector<std::string> rates, sizes, codecs, colors;
  for (const ManifestEntry& entry : report.entries) {
    const SourceFacts& facts = entry.facts;
    if (!entry.has_facts) continue;
    codecs.push_back(facts.codec + " in " + facts.container.substr(0, facts.container.find(',')));
    if (facts.presented == 0) continue;
    sizes.push_back(size_text(facts.shown_width, facts.shown_height));
    colors.push_back(facts.color_matrix + " " + facts.color_range + (facts.color_guessed ? " (guess)" : ""));
    const double span = facts.last_seconds - facts.first_seconds;
    if (facts.presented < 2 || !(span > 0)) {
      rates.push_back("picture");
      continue;
    }
    const double fps = double(facts.presented - 1) / span;
    rates.push_back(format_text("%.5g", fps));
    seconds.push_back(double(facts.presented) / fps);
    if (!entry.refused()) lost.push_back(std::round(1e4 * facts.crop_loss) / 100);
  }
  const bool crops = std::any_of(lost.begin(), lost.end(), [](double share) { return share > 0; });
  return names_chart("Frames per second", rates) + values_chart("Length in seconds", seconds, false, "s") +
         names_chart("Size as shown", sizes) + names_chart("Codec and container", codecs) +
         names_chart("Colour matrix and range", colors) +
         (crops ? values_chart("Cut away by the crop", lost, false, "%") : "");
}

std::string section(const char* title, const char* note, const std::string& charts) {
  if (charts.empty()) return "";
  return std::string("<h2>") + title + "</h2>\n<p class=\"soft small\">" + note +
         "</p>\n<div class=\"charts\">\n" + charts + "</div>\n";
}

}  // namespace

std::string report_charts_html(const IngestReport& report, const std::vector<double>& brightness) {
  return section("What is trained on", "A clip counts once. Point at a bar for its figures.",
                 kept_charts(report, brightness) + score_charts(report)) +
         section("What the sources are",
                 "By the frames that were decoded, not by headers; rates are means over the timestamps.",
                 source_charts(report));
}

}  // namespace zoetrope
