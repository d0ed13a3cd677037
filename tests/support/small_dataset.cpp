#include "tests/support/small_dataset.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/check.h"
#include "core/rng.h"
#include "video/store/dataset_writer.h"

namespace zoetrope::testing_support {

Clip make_pattern_clip(int64_t num_frames, int64_t height, int64_t width, double fps, uint64_t seed) {
  Clip clip{"", num_frames, height, width, fps, {}, {}};
  clip.pixels.resize(size_t(num_frames * height * width * 3));
  const RandomKey key{seed, Purpose::kInitialisation, 0, 0};
  const float speed = 0.1f + 0.4f * uniform(key, 0), angle = 6.28f * uniform(key, 1),
              wave = 0.2f + 0.5f * uniform(key, 2);
  for (int64_t t = 0; t < num_frames; ++t) {
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        for (int64_t channel = 0; channel < 3; ++channel) {
          const float phase = wave * (float(x) * std::cos(angle) + float(y) * std::sin(angle)) -
                              speed * float(t) + 2.1f * float(channel);
          const int64_t at = ((t * height + y) * width + x) * 3 + channel;
          const float noise = 8 * uniform({seed, Purpose::kNoise, 0, at}, 0);
          clip.pixels[size_t(at)] = uint8_t(std::clamp(120 + 100 * std::sin(phase) + noise, 0.0f, 255.0f));
        }
    clip.sources.push_back({double(t) / fps, double(t) / fps, t});
  }
  return clip;
}

TemporaryFolder::TemporaryFolder() {
  const std::string pattern = (std::filesystem::temp_directory_path() / "zoetrope-test-XXXXXX").string();
  path_ = pattern;
  ZT_CHECK(mkdtemp(path_.data()) != nullptr, "can't make a folder like '", pattern, "'");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

SmallDataset::SmallDataset(const SmallDatasetOptions& options) {
  DatasetRules rules;
  rules.patch = options.patch;
  rules.fps = options.fps;
  rules.shard_samples = options.samples_per_shard;
  DatasetWriter writer(folder(), rules);
  for (size_t i = 0; i < options.sizes.size(); ++i) {
    const auto& size = options.sizes[i];
    Clip clip = make_pattern_clip(size[0], size[1], size[2], options.fps, options.seed * 1000 + i);
    char name[32];
    std::snprintf(name, sizeof name, "clip-%04zu.mp4", i);
    clip.name = name;
    ManifestEntry entry;
    entry.name = name;
    entry.verdict = "kept";
    writer.append(entry, clip, "clip number " + std::to_string(i), tokenize(clip, options.patch));
    clips_.push_back(std::move(clip));
  }
  writer.seal();
}

}  // namespace zoetrope::testing_support
