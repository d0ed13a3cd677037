// The page of ingest and the summary: figures, reasons, escaping, bounds, the same bytes every time.
#include "tools/ingest_report.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "tests/support/markup.h"
#include "tests/support/media.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "tools/svg.h"
#include "tools/svg_small.h"
#include "video/store/dataset_writer.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::foreign_reference;
using testing_support::make_pattern_clip;
using testing_support::markup_fault;
using testing_support::run_process;
using testing_support::TemporaryFolder;

size_t count_of(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

void expect_sound(const std::string& html) {
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(foreign_reference(html), "");
  for (const char* word : {"nan ", "nan\"", "inf\"", " inf"}) EXPECT_EQ(html.find(word), std::string::npos);
}

void expect_holds(const std::string& html, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) EXPECT_NE(html.find(text), std::string::npos) << text;
}

ManifestEntry entry_of(const std::string& name, const std::string& verdict, const std::string& reason) {
  ManifestEntry entry;
  entry.name = name;
  entry.verdict = verdict;
  entry.reason = reason;
  entry.source_bytes = 1000;
  entry.source_hash = "hash of " + name;
  return entry;
}

SourceFacts facts_of(int64_t frames, double fps) {
  SourceFacts facts;
  facts.container = "mov,mp4,m4a", facts.codec = "h264";
  facts.declared = facts.packets = facts.decoded = facts.presented = frames;
  facts.width = facts.shown_width = 640, facts.height = facts.shown_height = 480;
  facts.first_seconds = 0, facts.last_seconds = double(frames - 1) / fps;
  facts.color_matrix = "bt709", facts.color_range = "tv", facts.color_guessed = true;
  return facts;
}

/// A data set with a clip of each kind; `many` more that are kept.
std::string make_dataset(const std::string& folder, int64_t many = 0) {
  DatasetRules rules;
  rules.fps = 16;
  rules.options =
      R"({"area": 6144, "reading": "", "upscale": false, "analysis": {"scenes": ""}, "hdr": "refuse"})";
  DatasetWriter writer(folder, rules);
  const auto keep = [&](ManifestEntry entry, int64_t frames, const std::string& caption) {
    Clip clip = make_pattern_clip(frames, 24, 32, 16, uint64_t(frames));
    clip.name = entry.name;
    writer.append(entry, clip, caption, tokenize(clip, rules.patch));
  };
  ManifestEntry cut = entry_of("a<b>&\"c'.mp4", "trimmed",
                               "67 frames at 16 fps cut to 65 = 1 + 4 x 16; cropped to whole patches: 32x24, "
                               "1.5 % of the picture lost");
  cut.has_facts = true;
  cut.facts = facts_of(101, 24000.0 / 1001);
  keep(cut, 65, "a <b>bold</b> & \"quoted\" caption");
  ManifestEntry damaged = entry_of("b.mp4", "trimmed", "decode errors (2 in 30 packets): the longest run");
  damaged.found_damage = true, damaged.has_facts = true, damaged.facts = facts_of(30, 25);
  keep(damaged, 9, "twice");
  writer.append_refused(entry_of("c.mp4", "refused", "no video stream (streams: audio aac)"));
  ManifestEntry skipped = entry_of("d.mp4", "refused", "no caption: no text file of the same name beside it");
  skipped.skipped = true;
  writer.append_refused(skipped);
  ManifestEntry same = entry_of("e.mp4", "kept", "");
  same.source_hash = "hash of b.mp4";
  keep(same, 1, "twice");
  for (int64_t i = 0; i < many; ++i)
    keep(entry_of("f" + std::to_string(1000 + i) + ".mp4", "kept", ""), 5, "clip " + std::to_string(i));
  writer.seal();
  return folder;
}

std::string page_of(const std::string& folder, const ReportLimits& limits = {}) {
  const Dataset dataset(folder);
  return ingest_report_html(read_ingest_report(folder, dataset, {"3 text files belong to no clip: x.txt"}),
                            dataset, limits);
}

TEST(IngestReport, ShowsCountsReasonsAndPictures) {
  const TemporaryFolder folder;
  const std::string html = page_of(make_dataset(folder.path() + "/data"));
  expect_sound(html);
  expect_holds(html, {"<h1>data: 3 of 5 clips can be used</h1>", "1 kept whole", "2 trimmed",
                      "2 refused, 1 of them as asked for", "75 frames at 16 fps = 4.7 s",
                      ">area 6144, upscale false, hdr refuse<",
                      "101 frames at 23.976 fps = 4.21 s: 67 frames at 16 fps cut "
                      "to 65 = 1 + 4 x 16",
                      "<td>no_video_stream</td>", "<td>no_caption</td>", "<td>whole_rows</td>",
                      "<td>cropped</td>", "<td>decode_errors</td>", "3 text files belong to no clip",
                      "3 clips have a caption", "Captions of several clips", "b.mp4, e.mp4",
                      "Files with the same bytes", "h264 in mov", "bt709 tv (guess)"});
  EXPECT_EQ(count_of(html, "<figure>"), 3u);
  EXPECT_EQ(count_of(html, "data:image/jpeg;base64,"), 3u);
  for (const char* title :
       {"Length in seconds", "Length in frames", "Tokens of a clip", "Frame size", "Aspect, width by height",
        "Caption length", "Brightness", "Frames per second", "Size as shown", "Codec and container"})
    EXPECT_NE(html.find(std::string("<h3>") + title), std::string::npos) << title;
}

TEST(IngestReport, EscapesNamesAndCaptions) {
  const TemporaryFolder folder;
  const std::string html = page_of(make_dataset(folder.path() + "/data"));
  expect_holds(html,
               {"a&lt;b&gt;&amp;&quot;c&#39;.mp4", "a &lt;b&gt;bold&lt;/b&gt; &amp; &quot;quoted&quot;"});
  EXPECT_EQ(html.find("<b>bold"), std::string::npos);
  EXPECT_EQ(clipped_html("abcdef", 6), "abcdef");
  EXPECT_EQ(clipped_html("abc\"def", 4), "<span title=\"abc&quot;def\">abc&quot;...</span>");
  EXPECT_EQ(clipped_html("ab\xc3\xa4xyz", 3), "<span title=\"ab\xc3\xa4xyz\">ab...</span>");
}

TEST(IngestReport, IsTheSameWhereverTheDataSetLies) {
  const TemporaryFolder folder;
  const std::string page = page_of(make_dataset(folder.path() + "/data"));
  fs::create_directories(folder.path() + "/else/where");
  fs::copy(folder.path() + "/data", folder.path() + "/else/where/data");
  EXPECT_TRUE(page == page_of(folder.path() + "/else/where/data/"));
  EXPECT_EQ(page.find(folder.path()), std::string::npos);
}

TEST(IngestReport, IsBoundedAndSaysWhatItLeavesOut) {
  const TemporaryFolder folder;
  make_dataset(folder.path() + "/data", 120);
  ReportLimits limits{40, 1 << 20, 3, 50, 100};
  std::string html = page_of(folder.path() + "/data", limits);
  expect_sound(html);
  EXPECT_EQ(count_of(html, "<figure>"), 40u);
  expect_holds(html, {"40 of 123 clips, evenly spaced by path: ", "The first 3 of 4 clips",
                      "The first 50 of 123 clips", "Brightness of the clips shown below"});
  limits.picture_bytes = 20'000;
  html = page_of(folder.path() + "/data", limits);
  EXPECT_LT(count_of(html, "<figure>"), 40u);
  expect_holds(html, {"as far as 20.0 kB of pictures allow"});
  size_t letters = 0;
  for (size_t at = html.find("base64,"); at != std::string::npos; at = html.find("base64,", at + 1))
    letters += html.find('"', at) - at - 7;
  EXPECT_LE(letters, 20'000u);
}

TEST(IngestReport, AnEmptyDataSetHasAPageToo) {
  const TemporaryFolder folder;
  DatasetWriter writer(folder.path() + "/data", {});
  writer.append_refused(entry_of("a.mp4", "refused", "an empty file (0 bytes)"));
  writer.seal();
  const std::string html = page_of(folder.path() + "/data");
  expect_sound(html);
  expect_holds(html, {"0 of 1 clips can be used", "<td>empty_file</td>"});
}

TEST(IngestReport, DrawsScoresWhateverTheyAreCalled) {
  const TemporaryFolder folder;
  const Dataset dataset(make_dataset(folder.path() + "/data"));
  IngestReport report = read_ingest_report(folder.path() + "/data", dataset, {});
  for (size_t i = 0; i < report.scores.size(); ++i) {
    report.scores[i]["motion"] = 0.25 * double(i);
    report.scores[i]["loudness"] = 3;
    report.scores[i]["brightness"] = 100;
  }
  const std::string html = ingest_report_html(report, dataset);
  expect_sound(html);
  expect_holds(html, {"<h3>Motion</h3>", "0 to 1 levels of 255 per second, median 0.5",
                      "<h3>Score: loudness</h3>", "all 3<"});
  EXPECT_EQ(count_of(html, "<h3>Brightness"), 1u);
}

TEST(Reasons, HaveCodesAndKeepTheirParts) {
  const ManifestEntry cut = entry_of("a", "trimmed",
                                     "the picture's size or rotation changes within the file; later pictures "
                                     "are fitted to the first; only the first 5 s (--max-seconds) of 9 s");
  const std::vector<Reason> reasons = reasons_of(cut);
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_EQ(reasons[0].code, "size_changes");
  EXPECT_NE(reasons[0].text.find("later pictures"), std::string::npos);
  EXPECT_EQ(reasons[1].code, "max_seconds");
  EXPECT_EQ(reasons_of(entry_of("a", "refused", "none of 3 packets could be decoded: x"))[0].code,
            "undecodable");
  EXPECT_EQ(reasons_of(entry_of("a", "refused", "A new reason: 3 of 4"))[0].code, "a_new_reason");
  EXPECT_EQ(reasons_of(entry_of("a", "refused", "7: what"))[0].code, "other");
  EXPECT_TRUE(reasons_of(entry_of("a", "kept", "")).empty());
  const std::vector<Reason> joined = reasons_of(
      entry_of("a", "trimmed",
               "decode errors (1 in 9 packets): x; its timestamps start over 2 times; each part is shown"));
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[1].code, "clock_restarts");
}

TEST(SmallCharts, CountEveryValueOnce) {
  const std::vector<std::vector<double>> lists{{3},     {0, 0, 0}, {1, 2, 3, 4, 1000}, {0.1, 0.2, 0.7},
                                               {-3, 5}, {1e-9, 1}, {17, 17.5},         {240, 240}};
  for (const auto& values : lists)
    for (const bool whole : {false, true}) {
      const ValueClasses classes = classify(values, whole);
      ASSERT_EQ(classes.edges.size(), classes.counts.size() + 1);
      int64_t all = 0;
      for (size_t i = 0; i < classes.counts.size(); ++i) {
        EXPECT_LT(classes.edges[i], classes.edges[i + 1]);
        all += classes.counts[i];
      }
      EXPECT_EQ(all, int64_t(values.size()));
      EXPECT_LE(classes.edges.front(), *std::min_element(values.begin(), values.end()));
      EXPECT_GE(classes.edges.back(), *std::max_element(values.begin(), values.end()));
      EXPECT_LE(classes.counts.size(), 64u);
      expect_sound("<svg>" + small_histogram_svg(values, whole, "<s>", "clips") + "</svg>");
    }
  const auto bars = most_common({"a", "b", "b", "c", "d"}, 3);
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_EQ(bars[0], (std::pair<std::string, int64_t>{"b", 2}));
  EXPECT_EQ(bars[2], (std::pair<std::string, int64_t>{"2 others", 2}));
}

TEST(IngestSummary, IsTextWithArithmeticAndJsonWithCodes) {
  const TemporaryFolder folder;
  const std::vector<ManifestEntry> entries =
      read_manifest(make_dataset(folder.path() + "/data") + "/manifest.jsonl");
  const std::string text = counts_text(count_verdicts(entries), entries, 16);
  expect_holds(
      text, {"3 of 5 clips can be used: 1 kept whole, 2 trimmed; 2 refused", "75 frames at 16 fps = 4.7 s, ",
             "such as a<b>&\"c'.mp4: 101 frames at 23.976 fps = 4.21 s: 67 frames at 16 fps cut to 65",
             "  1  no video stream\n"});
  const auto json = nlohmann::json::parse(counts_json(count_verdicts(entries), entries));
  EXPECT_EQ(json.at("refused"), 2);
  EXPECT_EQ(json.at("reasons").at("refused").at(0).at("code"), "no_video_stream");
  EXPECT_EQ(json.at("reasons").at("trimmed").size(), 3u);
  EXPECT_EQ(json.at("refused_clips").at(1).at("name"), "d.mp4");
  EXPECT_EQ(json.at("refused_clips").at(1).at("code"), "no_caption");
  EXPECT_EQ(json.at("refused_clips").at(1).at("skipped"), true);
}

TEST(IngestReport, IngestAndInspectWriteTheSamePage) {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return folder.path() + "/" + name; };
  fs::create_directories(path("clips"));
  testing_support::run_ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=1 -c:v libx264 " + path("clips/a.mp4"));
  write_file_atomically(path("clips/a.txt"), "a caption");
  const auto ingested =
      run_process({ZT_BINARY, "ingest", path("clips"), path("data"), "--html", path("a.html"), "--quiet"});
  ASSERT_EQ(ingested.exit_code, 0) << ingested.output;
  EXPECT_EQ(ingested.output.find("frames/s"), std::string::npos) << ingested.output;
  ASSERT_EQ(run_process({ZT_BINARY, "inspect", path("data"), "--html", path("b.html")}).exit_code, 0);
  const std::string page = read_file(path("a.html"));
  expect_sound(page);
  EXPECT_TRUE(page == read_file(path("b.html")));
  EXPECT_FALSE(fs::exists(path("data/report.html")));
  const auto within = run_process({ZT_BINARY, "inspect", path("data"), "--html", path("data/report.html")});
  EXPECT_EQ(within.exit_code, 2) << within.output;
  EXPECT_EQ(run_process({ZT_BINARY, "ingest", path("clips"), path("data"), "--html", path("clips/a.html")})
                .exit_code,
            2);
}

}  // namespace
}  // namespace zoetrope
