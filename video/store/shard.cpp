#include "video/store/shard.h"

#include <algorithm>

#include "core/check.h"
#include "core/files.h"

namespace zoetrope {
namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kHashLetters = 16;
constexpr int64_t kPieceBytes = 128 << 10;  // beside a chunk, in the level-2 cache of small processors

/// Writes `count` values of T that get(i) returns.
template <class T, class Get>
void write_column(ShardImage& image, const std::string& name, int64_t count, Get&& get) {
  const Tensor values = Tensor::empty({count}, dtype_of<T>::value);
  for (int64_t i = 0; i < count; ++i) values.data<T>()[i] = get(i);
  image.write(name, values);
}

/// Writes an [N, 3] table.
template <class Get>
void write_triples(ShardImage& image, const std::string& name, int64_t count, Get&& get) {
  const Tensor values = Tensor::empty({count, 3}, DType::kI64);
  for (int64_t i = 0; i < count; ++i) {
    const std::array<int64_t, 3> triple = get(i);
    std::copy(triple.begin(), triple.end(), values.row<int64_t>(i));
  }
  image.write(name, values);
}

/// Writes texts as one run of bytes and the offsets that cut it.
template <class Get>
void write_texts(ShardImage& image, const std::string& bytes_name, const std::string& offsets_name,
                 int64_t count, Get&& get) {
  std::string all;
  const Tensor offsets = Tensor::zeros({count + 1}, DType::kI64);
  for (int64_t i = 0; i < count; ++i) {
    all += get(i);
    offsets.data<int64_t>()[i + 1] = int64_t(all.size());
  }
  image.write(bytes_name, Tensor::wrap(all.data(), {int64_t(all.size())}, DType::kU8));
  image.write(offsets_name, offsets);
}

/// Whether three positive numbers have this product, without overflow.
bool is_product(const int64_t* factors, int64_t product) {
  for (int i = 0; i < 3; ++i) {
    if (factors[i] < 1 || product % factors[i] != 0) return false;
    product /= factors[i];
  }
  return product == 1;
}

std::vector<int64_t> read_integers(const ShardFile& file, const std::string& name) {
  const Tensor values = file.read(name, DType::kI64);
  return {values.data<int64_t>(), values.data<int64_t>() + values.size()};
}

/// Offsets that cut `total` items: they start at 0, never fall, end at the total.
std::vector<int64_t> read_offsets(const ShardFile& file, const std::string& name, int64_t count,
                                  int64_t total) {
  std::vector<int64_t> offsets = read_integers(file, name);
  bool good = int64_t(offsets.size()) == count + 1 && offsets.front() == 0 && offsets.back() == total;
  for (size_t i = 1; good && i < offsets.size(); ++i) good = offsets[i] >= offsets[i - 1];
  ZT_REQUIRE(good, "'", file.path(), "': '", name, "' doesn't cut ", total, " items into ", count,
             " parts; the shard is damaged");
  return offsets;
}

std::vector<std::string> read_texts(const ShardFile& file, const std::string& bytes_name,
                                    const std::string& offsets_name, int64_t count) {
  const Tensor bytes = file.read(bytes_name, DType::kU8);
  const auto offsets = read_offsets(file, offsets_name, count, bytes.size());
  std::vector<std::string> texts(static_cast<size_t>(count));
  const char* first = reinterpret_cast<const char*>(bytes.raw());
  for (size_t i = 0; i < texts.size(); ++i)
    if (offsets[i + 1] > offsets[i]) texts[i].assign(first + offsets[i], size_t(offsets[i + 1] - offsets[i]));
  return texts;
}

}  // namespace

ShardWriter::ShardWriter(const Patch& patch) : patch_(patch) {}

void ShardWriter::begin(const std::string& path) {
  ZT_CHECK(samples_.empty(), "'", path, "' begins before the last shard ended");
  image_ = std::make_unique<ShardImage>(path);
  image_->create_rows("tokens", 3 * patch_.t * patch_.h * patch_.w);
}

int64_t ShardWriter::payload_bytes() const { return num_tokens_ * 3 * patch_.t * patch_.h * patch_.w; }

ShardStream::ShardStream(ShardImage& image) : image_(image) { image_.mark(); }

ShardStream::~ShardStream() {
  if (!kept_) image_.take_back();
}

void ShardStream::put(const Tensor& rows) {
  // In pieces, so that the caches still hold what is hashed when it is written.
  const int64_t step = std::max<int64_t>(1, kPieceBytes / rows.row_size());
  for (int64_t begin = 0; begin < rows.rows(); begin += step) {
    const Tensor piece = rows.slice_rows(begin, std::min(begin + step, rows.rows()));
    hash_.add({static_cast<const char*>(piece.raw()), size_t(piece.bytes())});
    image_.append_rows(piece);
  }
  num_rows_ += rows.rows();
}

std::string ShardStream::hash() const { return hex64(hash_.value()); }

std::shared_ptr<ShardStream> ShardWriter::stream() {
  ZT_CHECK(image_ != nullptr, "a clip before the first shard");
  return std::make_shared<ShardStream>(*image_);
}

void ShardWriter::append(const Clip& clip, const std::string& caption, const Tokens& tokens) {
  ZT_CHECK(image_ != nullptr, "a clip before the first shard");
  ZT_CHECK(grid_of(clip.num_frames, clip.height, clip.width, patch_) == tokens.grid, "clip '", clip.name,
           "' and its tokens differ in size");
  ShardStream stream(*image_);
  stream.put(tokens.tokens);
  append(clip, caption, stream);
}

void ShardWriter::append(const Clip& clip, const std::string& caption, ShardStream& stream) {
  const auto grid = grid_of(clip.num_frames, clip.height, clip.width, patch_);
  const int64_t num_tokens = grid[0] * grid[1] * grid[2];
  ZT_CHECK(num_tokens == stream.num_rows(), "clip '", clip.name, "' and its tokens differ in size");
  ZT_CHECK(int64_t(clip.sources.size()) == clip.num_frames, "clip '", clip.name, "' has ", clip.num_frames,
           " frames and ", clip.sources.size(), " sources");
  samples_.push_back({clip.name, caption, grid, clip.num_frames, clip.height, clip.width, clip.fps,
                      num_tokens_, num_tokens, stream.hash()});
  sources_.push_back(clip.sources);
  num_tokens_ += num_tokens;
  stream.keep();
}

void ShardWriter::write_index(ShardImage& image) const {
  const int64_t count = num_samples();
  const auto at = [&](int64_t i) -> const ShardSample& { return samples_[size_t(i)]; };
  write_column<int64_t>(image, "version", 1, [](int64_t) { return kVersion; });
  write_column<int64_t>(image, "patch", 3, [&](int64_t i) {
    return i == 0 ? patch_.t : i == 1 ? patch_.h : patch_.w;
  });
  write_column<int64_t>(image, "token_offsets", count + 1,
                        [&](int64_t i) { return i == count ? num_tokens_ : at(i).first_row; });
  write_triples(image, "grid", count, [&](int64_t i) { return at(i).grid; });
  write_triples(image, "size", count, [&](int64_t i) {
    return std::array<int64_t, 3>{at(i).num_frames, at(i).height, at(i).width};
  });
  write_column<double>(image, "fps", count, [&](int64_t i) { return at(i).fps; });
  write_texts(image, "names", "name_offsets", count, [&](int64_t i) { return at(i).name; });
  write_texts(image, "captions", "caption_offsets", count, [&](int64_t i) { return at(i).caption; });
  std::string hashes;
  std::vector<FrameSource> frames;
  std::vector<int64_t> frame_offsets{0};
  for (size_t i = 0; i < samples_.size(); ++i) {
    hashes += samples_[i].hash;
    frames.insert(frames.end(), sources_[i].begin(), sources_[i].end());
    frame_offsets.push_back(int64_t(frames.size()));
  }
  image.write("sample_hash", Tensor::wrap(hashes.data(), {count, kHashLetters}, DType::kU8));
  write_column<int64_t>(image, "frame_offsets", count + 1,
                        [&](int64_t i) { return frame_offsets[size_t(i)]; });
  const int64_t num_frames = int64_t(frames.size());
  write_column<double>(image, "source_seconds", num_frames,
                       [&](int64_t i) { return frames[size_t(i)].source_seconds; });
  write_column<double>(image, "output_seconds", num_frames,
                       [&](int64_t i) { return frames[size_t(i)].output_seconds; });
  write_column<int64_t>(image, "source_index", num_frames,
                        [&](int64_t i) { return frames[size_t(i)].source_index; });
}

FinishedImage ShardWriter::finish() {
  ZT_CHECK(!samples_.empty(), "a shard needs at least one sample");
  image_->end_rows();
  write_index(*image_);
  FinishedImage finished = image_->finish();
  image_.reset();
  samples_.clear();
  sources_.clear();
  num_tokens_ = 0;
  return finished;
}

ShardReader::ShardReader(const std::string& path) : file_(path) {
  const auto version = read_integers(file_, "version");
  ZT_REQUIRE(version.size() == 1 && version[0] == kVersion, "'", path, "': shard version ",
             version.empty() ? -1 : version[0], ", this program reads ", kVersion,
             "; ingest the clips again");
  const auto patch = read_integers(file_, "patch");
  constexpr int64_t kLargestSide = 1 << 16;  // so that a token's size can't overflow
  bool good = patch.size() == 3;
  for (const int64_t side : patch) good = good && side > 0 && side <= kLargestSide;
  ZT_REQUIRE(good, "'", path, "': 'patch' doesn't hold three sizes; the shard is damaged");
  patch_ = {patch[0], patch[1], patch[2]};
  read_samples();
}

void ShardReader::read_samples() {
  const Tensor grid = file_.read("grid", DType::kI64), size = file_.read("size", DType::kI64);
  const Tensor fps = file_.read("fps", DType::kF64), hashes = file_.read("sample_hash", DType::kU8);
  const int64_t count = grid.rows();
  int64_t features = 0;
  file_.shape_of_rows("tokens", num_tokens_, features);
  ZT_REQUIRE(grid.row_size() == 3 && size.rows() == count && size.row_size() == 3 && fps.size() == count &&
                 hashes.size() == count * kHashLetters && features == 3 * patch_.t * patch_.h * patch_.w,
             "'", path(), "': the index doesn't fit the payload; the shard is damaged");
  const auto rows = read_offsets(file_, "token_offsets", count, num_tokens_);
  const auto names = read_texts(file_, "names", "name_offsets", count);
  const auto captions = read_texts(file_, "captions", "caption_offsets", count);
  int64_t num_frames = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t* g = grid.row<int64_t>(i);
    const int64_t* s = size.row<int64_t>(i);
    const size_t at = size_t(i);
    ShardSample sample{names[at],
                       captions[at],
                       {g[0], g[1], g[2]},
                       s[0],
                       s[1],
                       s[2],
                       fps.data<double>()[i],
                       rows[at],
                       rows[at + 1] - rows[at],
                       ""};
    sample.hash.assign(reinterpret_cast<const char*>(hashes.row<uint8_t>(i)), size_t(kHashLetters));
    ZT_REQUIRE(s[0] >= 1 && s[1] >= 1 && s[2] >= 1 && grid_of(s[0], s[1], s[2], patch_) == sample.grid &&
                   is_product(g, sample.num_tokens),
               "'", path(), "': sample '", sample.name,
               "' has a grid that doesn't fit its size; the shard is damaged");
    num_frames += sample.num_frames;
    samples_.push_back(std::move(sample));
  }
  frame_offsets_ = read_offsets(file_, "frame_offsets", count, num_frames);
}

void ShardReader::read_tokens(int64_t sample, int64_t begin, int64_t end, const Tensor& rows) const {
  ZT_CHECK(sample >= 0 && sample < int64_t(samples_.size()), "sample ", sample, " of ", samples_.size());
  const ShardSample& from = samples_[size_t(sample)];
  ZT_CHECK(begin >= 0 && begin <= end && end <= from.num_tokens, "tokens [", begin, ", ", end, ") of '",
           from.name, "', which has ", from.num_tokens);
  ZT_CHECK(rows.dims() == 2 && rows.dtype() == DType::kU8 && rows.dense() && rows.rows() == end - begin &&
               rows.row_size() == 3 * patch_.t * patch_.h * patch_.w,
           "rows ", rows.shape_text(), " for ", end - begin, " tokens of ",
           3 * patch_.t * patch_.h * patch_.w, " u8");
  try {
    file_.read_rows("tokens", from.first_row + begin, rows);
  } catch (const Error& error) { throw Error(join_message("sample '", from.name, "': ", error.what())); }
}

std::vector<FrameSource> ShardReader::read_sources(int64_t sample) const {
  ZT_CHECK(sample >= 0 && sample < int64_t(samples_.size()), "sample ", sample, " of ", samples_.size());
  for (const char* name : {"source_seconds", "output_seconds", "source_index"})
    ZT_REQUIRE(file_.length_of(name) == frame_offsets_.back(), "'", path(), "': '", name,
               "' doesn't fit the samples; the shard is damaged");
  const int64_t begin = frame_offsets_[size_t(sample)];
  const int64_t count = frame_offsets_[size_t(sample) + 1] - begin;
  const Tensor source = file_.read_range("source_seconds", DType::kF64, begin, count);
  const Tensor output = file_.read_range("output_seconds", DType::kF64, begin, count);
  const Tensor index = file_.read_range("source_index", DType::kI64, begin, count);
  std::vector<FrameSource> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back({source.data<double>()[i], output.data<double>()[i], index.data<int64_t>()[i]});
  return out;
}

}  // namespace zoetrope
