#include "video/pixels/picture_color.h"

#include <cmath>

#include "core/check.h"

namespace zoetrope::pixels {
namespace {

/// Weights of red and blue in luma.
struct LumaWeights {
  double red = 0, blue = 0;
};

LumaWeights luma_weights(int matrix) {
  switch (matrix) {
    case AVCOL_SPC_BT709: return {0.2126, 0.0722};
    case AVCOL_SPC_FCC: return {0.30, 0.11};
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M: return {0.299, 0.114};
    case AVCOL_SPC_SMPTE240M: return {0.212, 0.087};
    case AVCOL_SPC_BT2020_NCL: return {0.2627, 0.0593};
    default: break;
  }
  const char* name = av_color_space_name(AVColorSpace(matrix));
  throw Error(join_message("colour matrix ", name != nullptr ? name : std::to_string(matrix),
                           " can't be converted; convert the clip to BT.709 first"));
}

bool is_gray(const PixelFormat& format) { return format.planes == 1; }

/// From samples / 2^(depth - 8) to levels of full range.
double full_scale(int depth) { return 255.0 * std::ldexp(1.0, depth - 8) / (std::ldexp(1.0, depth) - 1); }

/// Colours from luma (0 to 255) and chroma (-127.5 to 127.5).
void matrix_rows(int matrix, double (&rows)[3][3]) {
  if (matrix == AVCOL_SPC_YCGCO) {
    constexpr double kRows[3][3] = {{1, -1, 1}, {1, 1, 0}, {1, -1, -1}};
    for (int c = 0; c < 3; ++c)
      for (int p = 0; p < 3; ++p) rows[c][p] = kRows[c][p];
    return;
  }
  const LumaWeights weight = luma_weights(matrix);
  const double green = 1 - weight.red - weight.blue;
  for (auto& row : rows) row[0] = 1, row[1] = row[2] = 0;
  rows[0][2] = 2 * (1 - weight.red);
  rows[2][1] = 2 * (1 - weight.blue);
  rows[1][1] = -rows[2][1] * weight.blue / green;
  rows[1][2] = -rows[0][2] * weight.red / green;
}

void require_tone_mapping(const PictureColor& color, bool tone_map_hdr) {
  const std::string transfer = av_color_transfer_name(AVColorTransferCharacteristic(color.transfer));
  ZT_REQUIRE(tone_map_hdr, "HDR (transfer ", transfer,
             "), refused by --hdr refuse; --hdr tonemap converts it");
  const bool known = color.primaries == AVCOL_PRI_BT2020 || color.primaries == AVCOL_PRI_BT709 ||
                     color.primaries == AVCOL_PRI_UNSPECIFIED;
  const char* name = av_color_primaries_name(AVColorPrimaries(color.primaries));
  ZT_REQUIRE(known, "HDR (transfer ", transfer, ") with primaries ", name != nullptr ? name : "unknown",
             ": expected BT.2020; convert the clip to BT.709 first");
}

}  // namespace

HdrTransfer hdr_of(const PictureColor& color) {
  return color.transfer == AVCOL_TRC_SMPTE2084      ? HdrTransfer::kPq
         : color.transfer == AVCOL_TRC_ARIB_STD_B67 ? HdrTransfer::kHlg
                                                    : HdrTransfer::kNone;
}

PictureColor color_of(const AVFrame& frame, const PixelFormat& format, bool tone_map_hdr) {
  PictureColor color;
  color.transfer = frame.color_trc;
  color.primaries = frame.color_primaries;
  const bool hdr = hdr_of(color) != HdrTransfer::kNone;
  if (hdr) require_tone_mapping(color, tone_map_hdr);
  if (format.is_rgb) {
    color.matrix = AVCOL_SPC_RGB;
    color.full_range = true;  // H.264 and others tag RGB as limited that isn't
    return color;
  }
  const bool gray = is_gray(format), untagged_range = frame.color_range == AVCOL_RANGE_UNSPECIFIED;
  color.full_range = format.full_range || frame.color_range == AVCOL_RANGE_JPEG || (gray && untagged_range);
  color.chroma_place = frame.chroma_location;
  color.matrix = frame.colorspace;
  if (color.matrix == AVCOL_SPC_UNSPECIFIED || color.matrix == AVCOL_SPC_RGB ||
      color.matrix == AVCOL_SPC_RESERVED) {
    color.matrix = hdr ? AVCOL_SPC_BT2020_NCL : frame.height >= 720 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    color.guessed = !gray && !format.full_range;
  }
  if (untagged_range && !format.full_range && !gray) color.guessed = true;
  double unused[3][3];
  if (!gray) matrix_rows(color.matrix, unused);
  return color;
}

ColorEquations equations_of(const PictureColor& color, const PixelFormat& format,
                            const std::array<int, 3>& depths) {
  double rows[3][3] = {};
  if (format.is_rgb) rows[0][0] = rows[1][1] = rows[2][2] = 1;
  else if (is_gray(format)) rows[0][0] = rows[1][0] = rows[2][0] = 1;
  else matrix_rows(color.matrix, rows);
  ColorEquations out;
  for (int c = 0; c < 3; ++c)
    for (int p = 0; p < 3; ++p) {
      const bool chroma = p > 0 && !format.is_rgb;
      const double scale = color.full_range ? full_scale(depths[size_t(p)]) : 255.0 / (chroma ? 224 : 219);
      const double zero = chroma ? 128 : color.full_range ? 0 : 16;
      out.factor[c][p] = rows[c][p] * scale;
      out.offset[c] -= rows[c][p] * scale * zero;
    }
  return out;
}

ChromaSiting siting_of(const PictureColor& color, const PixelFormat& format) {
  const double beside_x = 0.5 - 0.5 / (1 << format.about->log2_chroma_w);
  const double beside_y = 0.5 - 0.5 / (1 << format.about->log2_chroma_h);
  switch (color.chroma_place) {
    case AVCHROMA_LOC_CENTER: return {0, 0};
    case AVCHROMA_LOC_TOPLEFT: return {beside_x, beside_y};
    case AVCHROMA_LOC_TOP: return {0, beside_y};
    case AVCHROMA_LOC_BOTTOMLEFT: return {beside_x, -beside_y};
    case AVCHROMA_LOC_BOTTOM: return {0, -beside_y};
    default: return {beside_x, 0};
  }
}

std::string steps_of(const PictureColor& color, const PixelFormat& format) {
  std::string steps;
  if (!format.is_rgb && format.planes == 3 && format.about->log2_chroma_w + format.about->log2_chroma_h > 0) {
    const bool known = color.chroma_place != AVCHROMA_LOC_UNSPECIFIED;
    const int place = known ? color.chroma_place : int(AVCHROMA_LOC_LEFT);
    steps =
        join_message("chroma ", av_chroma_location_name(AVChromaLocation(place)), known ? "" : " (guessed)");
  }
  if (hdr_of(color) != HdrTransfer::kNone) {
    const bool tagged = color.primaries == AVCOL_PRI_BT2020;
    steps += join_message(steps.empty() ? "" : ", ",
                          av_color_transfer_name(AVColorTransferCharacteristic(color.transfer)),
                          " tone-mapped to BT.709 from BT.2020", tagged ? "" : " (guessed)");
  }
  if (format.has_alpha) steps += (steps.empty() ? "" : ", ") + std::string("alpha on black");
  return steps;
}

ColorMix mix_of(const ColorEquations& equations) {
  ColorMix mix;
  for (int c = 0; c < 3; ++c) {
    for (int p = 0; p < 3; ++p) mix.factor[c][p] = int16_t(std::lround(equations.factor[c][p] * (1 << 13)));
    mix.offset[c] = int16_t(std::lround(equations.offset[c] * 16 + 8));
  }
  return mix;
}

SignalMix signals_of(const ColorEquations& equations) {
  SignalMix signals;
  for (int c = 0; c < 3; ++c) {
    for (int p = 0; p < 3; ++p) signals.factor[c][p] = float(equations.factor[c][p] * 256 / 255);
    signals.offset[c] = float(equations.offset[c] / 255);
  }
  return signals;
}

}  // namespace zoetrope::pixels
