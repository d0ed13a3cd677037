// Whole pictures from those that are flagged as two fields, by libavfilter's bwdif; other pictures pass as
// they are. One picture out for each one in, in the same order, one later. Used by video/media/file_decoder
// on request.
#pragma once

#include <deque>
#include <string>

#include "video/media/libav.h"

struct AVFilterContext;
struct AVFilterGraph;

namespace zoetrope {

class Deinterlacer {
 public:
  Deinterlacer();
  ~Deinterlacer();
  /// Takes the next picture. Throws: Error with a reason to refuse the file when its pixels can't be
  /// filtered.
  void put(const AVFrame& frame);
  /// No picture follows.
  void finish();
  /// The next picture that is ready, with all properties of the decoded one; false when there is none.
  bool take(AVFrame& out);
  /// What it does, for the data set's rules: filter and library version.
  static std::string description();

 private:
  bool fits(const AVFrame& frame) const;
  void open(const AVFrame& frame);
  void collect();

  AVFilterGraph* graph_ = nullptr;
  AVFilterContext *source_ = nullptr, *sink_ = nullptr;
  int width_ = 0, height_ = 0, format_ = -1;
  int64_t num_put_ = 0;
  std::deque<libav::Frame> originals_;  ///< of pictures within the filter
  std::deque<libav::Frame> ready_;
};

}  // namespace zoetrope
