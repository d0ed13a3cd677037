#include "tools/footprint.h"

#include <algorithm>

#include "core/check.h"
#include "model/activations.h"
#include "model/params.h"
#include "tools/text_format.h"

namespace zoetrope {

// Note [Bytes of a rank]. N parameters, n bytes of a value in products (bf16: 2), w of one in f32.
//   weights     n N in products; with f32 products they are the master weights too
//   gradients   w N, summed over micro-batches in f32
//   optimizer   w N master weights (only where n < w), 2 w N moments of AdamW, w N moving average if any
// Sharding divides the optimizer, then gradients, then weights by the ranks. Gradients that are reduced per
// unit need the unit's whole gradient twice (one fills while one is reduced), weights that are gathered the
// unit's twice (one is used while the next arrives); a unit is a block, the embeddings or the head.
// Activations of a token: what the model keeps of each layer, what it keeps outside the layers, and, once,
// what the layer that runs takes: gradients, a layer's recomputed tensors, attention's row sums. They are
// counted by the code that lays them out for real (model/activations.h). Full recompute keeps each layer's
// output alone. A pipeline's stage s of P keeps them for up to P - s micro-batches (1F1B, arXiv:2104.04473),
// of ceil(layers / P) layers.
// Buffers: the areas of the ring (parallel/ring_areas.h): own K, V and two blocks of mates, gradients of two
// and own ones that return. The other exchange schemes use the same areas: exchanging tokens for heads takes
// 8 D n of them per token, gathering goes in pieces of what they hold. And the next micro-batch's tokens.
// Work space: 32 MiB for the library of products (what cuBLAS recommends for Hopper); language models compute
// logits and their gradients for 1,024 tokens at a time.
namespace {

constexpr int64_t kProductWorkspace = int64_t(32) << 20, kLogitRows = 1024;

/// Bytes per token and per segment.
struct Bytes {
  int64_t per_token = 0, per_segment = 0;
};

/// Counts what `place(placer, sizes)` takes.
Bytes count(Precision precision, const auto& place) {
  Placer token(nullptr, precision), segment(nullptr, precision);
  place(token, BatchSizes{1, 0});
  place(segment, BatchSizes{0, 1});
  return {token.bytes(), segment.bytes()};
}

/// What a network lays out: for good outside the layers, of each layer by what recompute leaves out, and of
/// the one that runs.
struct Layout {
  Bytes outside, output, attention, rest, running;
};

Layout dit_layout(const ModelConfig& c, Precision precision) {
  Layout layout;
  const auto outside = [&](bool keep) {
    return count(precision, [&](Placer& placer, BatchSizes sizes) {
      FlowBuffers().place(placer, c, sizes);
      DitBuffers().place(placer, c, sizes, keep);
    });
  };
  layout.outside = outside(false);
  layout.output = count(precision, [&](Placer& p, BatchSizes s) { p.wide(s.tokens, c.width); });
  layout.attention =
      count(precision, [&](Placer& p, BatchSizes s) { BlockKept().place_light(p, c, s, false); });
  layout.rest = count(precision, [&](Placer& p, BatchSizes s) { BlockKept().place_rest(p, c, s); });
  layout.running = count(precision, [&](Placer& p, BatchSizes s) {
    BlockScratch().place_backward(p, c, precision, s);
    p.wide(s.tokens, c.num_heads);
  });
  layout.running.per_token += outside(true).per_token - layout.outside.per_token;
  layout.running.per_segment += outside(true).per_segment - layout.outside.per_segment;
  return layout;
}

/// A language model's layer: norm, Q, K and V, attention, projection, norm, gated MLP. Residuals are wide.
Layout text_layout(const NetworkShape& c, Precision precision) {
  const int64_t D = c.width, F = c.ffn, H = c.num_heads;
  Layout layout;
  layout.outside = count(precision, [&](Placer& p, BatchSizes s) {
    p.ids(s.tokens), p.ids(s.tokens), p.ids(s.tokens);                    // token, target, segment
    p.wide(s.tokens, D / H), p.wide(s.tokens, D);                         // rotation, embedded
    p.wide(s.tokens, 2), p.narrow(s.tokens, D), p.wide_vector(s.tokens);  // last norm, loss
  });
  layout.output = count(precision, [&](Placer& p, BatchSizes s) { p.wide(s.tokens, D); });
  layout.attention =
      count(precision, [&](Placer& p, BatchSizes s) { p.narrow(s.tokens, D), p.wide(s.tokens, H); });
  layout.rest = count(precision, [&](Placer& p, BatchSizes s) {
    p.wide(s.tokens, 2), p.narrow(s.tokens, D), p.narrow(s.tokens, 3 * D);  // norm, Q, K, V
    p.wide(s.tokens, D), p.wide(s.tokens, 2), p.narrow(s.tokens, D);        // residual, norm
    p.narrow(s.tokens, (c.mlp_products - 1) * F);  // before the activation, and the gate
    p.narrow(s.tokens, F);
  });
  layout.running = count(precision, [&](Placer& p, BatchSizes s) {
    const int64_t narrow = int64_t(size_of(precision.compute)), wide = int64_t(size_of(precision.wide));
    p.wide(s.tokens, D), p.narrow(s.tokens, 2 * D), p.wide(s.tokens, H);
    p.take(s.tokens, std::max((c.mlp_products - 1) * F * narrow, 3 * D * (narrow + wide)), DType::kU8);
  });
  return layout;
}

int64_t divide_up(int64_t value, int64_t parts) { return (value + parts - 1) / parts; }

}  // namespace

ModelConfig dit_config(const NetworkShape& network) {
  if (network.channels == 0)
    throw UsageError(join_message("'", network.name, "' is a language model, not a video model"));
  ModelConfig config;
  config.width = network.width;
  config.num_layers = network.num_layers;
  config.num_heads = network.num_heads;
  config.ffn = network.ffn;
  config.text_width = network.text_width;
  config.text_rows = network.text_rows;
  config.in_channels = config.out_channels = network.channels;
  config.patch = {1, 2, 2};
  return config;
}

NetworkShape network_shape_of(const ModelConfig& model) {
  return {"config", model.width,     model.num_layers, model.num_heads,   model.ffn,
          2,        model.text_rows, model.text_width, model.in_channels, 0};
}

ParameterCounts parameter_counts(const TrainingShape& training) {
  const NetworkShape& c = training.network;
  if (c.vocabulary > 0)
    return {c.vocabulary * c.width, 4 * c.width * c.width + c.mlp_products * c.width * c.ffn + 2 * c.width,
            c.vocabulary * c.width + c.width};
  ParameterCounts counts;
  for (const Parameter& each : list_parameters(training.dit)) {
    if (each.unit.kind == Unit::kHead) counts.head += each.size;
    else if (each.unit.kind != Unit::kBlock) counts.embeddings += each.size;
    else if (each.unit.block == 0) counts.block += each.size;
  }
  return counts;
}

MemoryModel Footprint::memory() const {
  MemoryModel model = activations;
  model.persistent = weights + gradients + optimizer + buffers + workspace;
  model.per_cap_token = buffers_per_cap_token;
  return model;
}

std::vector<Footprint> footprints_of(const TrainingShape& t) {
  const NetworkShape& c = t.network;
  const int64_t n = int64_t(size_of(t.precision.compute)), w = int64_t(size_of(t.precision.wide));
  const ParameterCounts counts = parameter_counts(t);
  const Layout layout = c.vocabulary > 0 ? text_layout(c, t.precision) : dit_layout(t.dit, t.precision);
  const int64_t layers = divide_up(c.num_layers, t.stages);
  const auto parts_over = [&](Sharding least) { return t.sharding >= least ? t.ranks : 1; };
  std::vector<Footprint> stages;
  for (int64_t stage = 0; stage < t.stages; ++stage) {
    const bool first = stage == 0, last = stage + 1 == t.stages;
    const int64_t parameters =
        layers * counts.block + (first ? counts.embeddings : 0) + (last ? counts.head : 0);
    const int64_t unit = std::max({counts.block, first ? counts.embeddings : 0, last ? counts.head : 0});
    Footprint f;
    f.weights = divide_up(n * parameters, parts_over(Sharding::kAll));
    f.gradients = divide_up(w * parameters, parts_over(Sharding::kGradients));
    f.optimizer =
        divide_up((2 + (n < w ? 1 : 0) + (t.ema ? 1 : 0)) * w * parameters, parts_over(Sharding::kOptimizer));
    if (t.ranks > 1 && t.sharding >= Sharding::kGradients) f.buffers += 2 * w * unit;
    if (t.ranks > 1 && t.sharding == Sharding::kAll) f.buffers += 2 * n * unit;
    f.workspace = kProductWorkspace + (last ? kLogitRows * c.vocabulary * (w + n) : 0);
    f.buffers_per_cap_token = 6 * c.width * (n + w) + 16 * c.channels;

    const bool keeps_attention = t.recompute != Recompute::kFull,
               keeps_rest = t.recompute == Recompute::kNone;
    const auto kept = [&](int64_t Bytes::*part) {
      return layout.outside.*part +
             layers * (layout.output.*part + (keeps_attention ? layout.attention.*part : 0) +
                       (keeps_rest ? layout.rest.*part : 0));
    };
    const auto running = [&](int64_t Bytes::*part) {
      return layout.running.*part + (keeps_attention ? 0 : layout.attention.*part) +
             (keeps_rest ? 0 : layout.rest.*part);
    };
    f.activations.per_token = running(&Bytes::per_token);
    f.activations.per_segment = running(&Bytes::per_segment);
    f.activations.per_held_token = kept(&Bytes::per_token);
    f.activations.per_held_segment = kept(&Bytes::per_segment);
    f.activations.in_flight = t.stages - stage;
    stages.push_back(f);
  }
  for (Footprint& stage : stages) stage.activations.recomputes_all = t.recompute == Recompute::kFull;
  return stages;
}

std::vector<MemoryPart> memory_parts(const Footprint& f, int64_t cap_tokens, int64_t peak) {
  const int64_t buffers = f.buffers + f.buffers_per_cap_token * cap_tokens;
  return {{"weights", f.weights},
          {"gradients", f.gradients},
          {"optimizer", f.optimizer},
          {"activations", peak - f.weights - f.gradients - f.optimizer - f.workspace - buffers},
          {"work space", f.workspace},
          {"buffers", buffers}};
}

std::string footprint_table(const Footprint& f, int64_t cap_tokens, int64_t peak, int64_t limit) {
  std::vector<MemoryPart> rows = memory_parts(f, cap_tokens, peak);
  rows.push_back({"total", peak});
  rows.push_back({"limit", limit});
  std::string text = format_text("%-12s %18s %10s\n", "memory", "bytes", "GB");
  for (const MemoryPart& row : rows)
    text += format_text("%-12s %18s %10.3f\n", row.name, with_commas(row.bytes).c_str(),
                        1e-9 * double(row.bytes));
  return text;
}

}  // namespace zoetrope
