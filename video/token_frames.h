// Tokens of a clip as its frames come: each frame has its place in them, so that pictures are converted
// straight into tokens. Used by video/media/window_sampler; `Tokens` goes on to video/store.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>

#include "video/tokens.h"

namespace zoetrope {

/// Where one frame's pixels go: its copy in each token of a time row.
struct TokenPlace {
  uint8_t* first = nullptr;  ///< red of the first token's first line
  int64_t height = 0, width = 0;
  Patch patch;

  int64_t token_bytes() const { return 3 * patch.t * patch.h * patch.w; }
  int64_t channel_bytes() const { return patch.t * patch.h * patch.w; }  ///< from red to green to blue
  int64_t row_bytes() const { return width / patch.w * token_bytes(); }  ///< from a row of tokens to the next
};

/// Puts a picture [H, W, 3] there.
void put_picture(const TokenPlace& to, const uint8_t* rgb);
/// Puts the picture that is at `from` there; of the same size and patch.
void copy_picture(const TokenPlace& to, const TokenPlace& from);

/// Where tokens go as soon as they are whole, so that no clip is ever held; without `put`: nowhere.
struct TokenSink {
  std::function<void(const Tensor& rows)> put;        ///< appends tokens
  std::function<void(const Tensor& rows)> read_back;  ///< reads the first tokens that were put
};
using OpenTokenSink = std::function<TokenSink()>;

/// What a sink throws: no fault of the clip.
struct TokenSinkFailed {
  std::exception_ptr reason;
};

class TokenFrames {
 public:
  /// Throws: Error unless height and width are multiples of the patch. `most`: frames that may come; room for
  /// them is reserved, and more is found when they do. With a sink there is room for two time rows.
  TokenFrames(const Patch& patch, int64_t height, int64_t width, int64_t most, TokenSink sink = {});
  int64_t num_frames() const { return frames_; }
  /// Adds a frame, whose place is to be filled before the next is added. Places move.
  void add();
  /// Of any frame; with a sink of one of the last patch.t + 1.
  TokenPlace place(int64_t frame) const;
  /// Keeps the first frames.
  void cut(int64_t frames);
  /// Bytes of a frame, its copies left out.
  int64_t frame_bytes() const { return height_ * width_ * 3; }
  /// Tokens of the first `frames`, 1 + t n of them; used up. The grid alone, if a sink has got all of them.
  Tokens take(int64_t frames);

 private:
  void make_room(int64_t time_rows);
  void repeat_first();
  bool streams() const { return bool(sink_.put); }
  Tensor time_row(int64_t row) const;
  void put_rows_until(int64_t row);
  void stop_streaming();

  Patch patch_;
  int64_t height_, width_, frames_ = 0;
  Tensor tokens_;
  TokenSink sink_;
  int64_t rows_put_ = 0;  ///< time rows that the sink has
};

}  // namespace zoetrope
