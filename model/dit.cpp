#include "model/dit.h"

#include "model/block.h"
#include "model/embed.h"

namespace zoetrope {

struct Dit::State {
  ModelConfig config;
  Precision precision;
  const Ops& ops;
  ParallelHooks hooks;
  Arena& arena;
  // Local defaults of hooks that the caller left out.
  LocalAttention local_attention;
  GradientSink no_sink;
  ParameterSource all_here;
  WidthShard whole_width;
  BlockRange all_blocks;

  LinearParameters patch_embedding, time_in, time_out, time_projection, text_in, text_out, head;
  VectorParameter head_modulation;
  std::vector<BlockParameters> blocks;

  // One micro-batch at a time, from forward to backward.
  DitBuffers buffers;
  std::vector<BlockKept> kept;
  std::vector<int64_t> marks;  // stack position below each block's tensors
  std::vector<AttentionItem> text_items;

  State(const ModelConfig& the_config, Precision the_precision, const Ops& the_ops,
        const Parameters& parameters, ParallelHooks the_hooks, Arena& the_arena)
      : config(the_config),
        precision(the_precision),
        ops(the_ops),
        hooks(the_hooks),
        arena(the_arena),
        local_attention(the_ops, the_arena) {
    if (!hooks.attention) hooks.attention = &local_attention;
    if (!hooks.gradients) hooks.gradients = &no_sink;
    if (!hooks.parameters) hooks.parameters = &all_here;
    if (!hooks.width) hooks.width = &whole_width;
    if (!hooks.blocks) hooks.blocks = &all_blocks;
    patch_embedding = find_linear(parameters, "patch_embedding");
    time_in = find_linear(parameters, "time_embedding.0");
    time_out = find_linear(parameters, "time_embedding.2");
    time_projection = find_linear(parameters, "time_projection.1");
    text_in = find_linear(parameters, "text_embedding.0");
    text_out = find_linear(parameters, "text_embedding.2");
    head = find_linear(parameters, "head.head");
    head_modulation = {parameters.value("head.modulation"), parameters.grad("head.modulation")};
    for (int64_t b = 0; b < config.num_layers; ++b) blocks.emplace_back(parameters, b);
  }

  int64_t first_block() const { return hooks.blocks->begin(); }
  int64_t end_block() const { return hooks.blocks->end(config.num_layers); }
  bool has_embeddings() const { return first_block() == 0; }
  bool has_head() const { return end_block() == config.num_layers; }
  Tensor six_vectors(const Tensor& modulation) const { return modulation.columns(0, 6 * config.width); }
  Tensor time_vector(const Tensor& modulation) const {
    return modulation.columns(6 * config.width, 7 * config.width);
  }

  BlockInputs inputs_of(const MicroBatch& batch) {
    return {config,
            precision,
            ops,
            hooks,
            arena,
            batch,
            {batch.num_tokens(), int64_t(batch.segments.size())},
            text_items,
            buffers.segment,
            buffers.rotation,
            six_vectors(buffers.modulation),
            buffers.text};
  }

  template <class Work>
  void with_unit(Unit unit, Phase phase, Work&& work) {
    hooks.parameters->acquire(unit, phase);
    work();
    hooks.parameters->release(unit, phase);
  }

  void check(const MicroBatch& batch, const DitInput& input) const;
  void touch_units(Phase phase);
  void embed(const DitInput& input);
  void embed_backward(const DitInput& input);
  void run_blocks(const BlockInputs& inputs, bool keep);
  void run_head();
  void head_backward(const Tensor& doutput);
  void recompute(const BlockInputs& inputs, int64_t block);
};

void Dit::State::check(const MicroBatch& batch, const DitInput& input) const {
  const int64_t T = batch.num_tokens(), S = int64_t(batch.segments.size());
  ZT_CHECK(input.features.rows() == T && input.features.row_size() == config.in_features(), "features ",
           input.features.shape_text(), ", expected [", T, ", ", config.in_features(), "]");
  ZT_CHECK(int64_t(input.timesteps.size()) == S, input.timesteps.size(), " timesteps for ", S, " segments");
  ZT_CHECK(input.text.rows() == S * config.text_rows && input.text.row_size() == config.text_width, "text ",
           input.text.shape_text(), ", expected [", S * config.text_rows, ", ", config.text_width, "]");
}

/// A rank without tokens still takes part in what gathers parameters.
void Dit::State::touch_units(Phase phase) {
  const auto touch = [&](Unit unit) { with_unit(unit, phase, [] {}); };
  const bool forward = phase == Phase::kForward;
  const std::vector<Unit> embeddings{
      {Unit::kPatchEmbedding, 0}, {Unit::kTimeEmbedding, 0}, {Unit::kTextEmbedding, 0}};
  if (forward && has_embeddings())
    for (const Unit& unit : embeddings) touch(unit);
  if (!forward && has_head()) touch({Unit::kHead, 0});
  for (int64_t i = first_block(); i < end_block(); ++i) {
    const int64_t block = forward ? i : first_block() + end_block() - 1 - i;
    if (!forward && config.recompute) with_unit({Unit::kBlock, block}, Phase::kRecompute, [] {});
    touch({Unit::kBlock, block});
  }
  if (forward && has_head()) touch({Unit::kHead, 0});
  if (!forward && has_embeddings())
    for (size_t i = embeddings.size(); i-- > 0;) touch(embeddings[i]);
}

void Dit::State::embed(const DitInput& input) {
  DitBuffers& b = buffers;
  with_unit({Unit::kPatchEmbedding, 0}, Phase::kForward,
            [&] { ops.linear(b.x, input.features, *patch_embedding.weight, patch_embedding.bias); });
  with_unit({Unit::kTimeEmbedding, 0}, Phase::kForward, [&] {
    fill_timestep_features(b.frequencies, input.timesteps);
    const Tensor time = time_vector(b.modulation);
    ops.linear(b.time_hidden, b.frequencies, *time_in.weight, time_in.bias);
    ops.activate(b.time_active, b.time_hidden, Activation::kSilu);
    ops.linear(time, b.time_active, *time_out.weight, time_out.bias);
    ops.activate(b.time_silu, time, Activation::kSilu);
    ops.linear(six_vectors(b.modulation), b.time_silu, *time_projection.weight, time_projection.bias);
  });
  with_unit({Unit::kTextEmbedding, 0}, Phase::kForward, [&] {
    ops.linear(b.text_hidden, input.text, *text_in.weight, text_in.bias);
    ops.activate(b.text_active, b.text_hidden, Activation::kGelu);
    ops.linear(b.text, b.text_active, *text_out.weight, text_out.bias);
  });
}

void Dit::State::embed_backward(const DitInput& input) {
  const DitBuffers& b = buffers;
  const bool same = precision.compute == precision.wide;
  const ArenaScope scope(arena);
  Placer placer(&arena, precision);
  const auto backward = [&](const Tensor& dinput, const Tensor& dy, const Tensor& x,
                            const LinearParameters& layer) {
    ops.linear_backward_weight(layer.dweight, layer.dbias, dy, x);
    if (dinput.defined()) ops.linear_backward_input(dinput, dy, *layer.weight);
  };
  const auto narrowed = [&](const Tensor& wide) {
    if (same) return wide;
    const Tensor narrow = placer.narrow(wide.rows(), wide.row_size());
    ops.convert(narrow, wide);
    return narrow;
  };
  with_unit({Unit::kTextEmbedding, 0}, Phase::kBackward, [&] {
    const ArenaScope inner(arena);
    const Tensor dactive = placer.narrow(b.text.rows(), config.width);
    backward(dactive, narrowed(b.dtext), b.text_active, text_out);
    ops.activate_backward(dactive, dactive, b.text_hidden, Activation::kGelu);
    backward({}, dactive, input.text, text_in);
  });
  hooks.gradients->unit_done({Unit::kTextEmbedding, 0});
  with_unit({Unit::kTimeEmbedding, 0}, Phase::kBackward, [&] {
    const ArenaScope inner(arena);
    const Tensor dtime = time_vector(b.dmodulation), d = placer.wide(b.frequencies.rows(), config.width);
    backward(d, six_vectors(b.dmodulation), b.time_silu, time_projection);
    ops.activate_backward(d, d, time_vector(b.modulation), Activation::kSilu);
    ops.add(dtime, d);
    backward(d, dtime, b.time_active, time_out);
    ops.activate_backward(d, d, b.time_hidden, Activation::kSilu);
    backward({}, d, b.frequencies, time_in);
  });
  hooks.gradients->unit_done({Unit::kTimeEmbedding, 0});
  with_unit({Unit::kPatchEmbedding, 0}, Phase::kBackward,
            [&] { backward({}, narrowed(b.dx), input.features, patch_embedding); });
  hooks.gradients->unit_done({Unit::kPatchEmbedding, 0});
}

void Dit::State::run_blocks(const BlockInputs& inputs, bool keep) {
  kept.assign(size_t(config.num_layers), {});
  marks.assign(size_t(config.num_layers), 0);
  Placer placer(&arena, precision);
  Tensor x = buffers.x;
  for (int64_t b = first_block(); b < end_block(); ++b) {
    BlockKept& block = kept[size_t(b)];
    const int64_t mark = marks[size_t(b)] = arena.mark();
    block.x = x;
    block.place_light(placer, config, inputs.sizes, keep);
    if (!keep) block.output = x;
    const int64_t light = arena.mark();
    block.place_rest(placer, config, inputs.sizes);
    with_unit({Unit::kBlock, b}, Phase::kForward,
              [&] { block_forward(inputs, blocks[size_t(b)], block, b, Phase::kForward); });
    x = block.output;
    if (!keep) arena.release(mark);
    else if (config.recompute) arena.release(light);
  }
  buffers.x = x;
}

void Dit::State::recompute(const BlockInputs& inputs, int64_t b) {
  BlockKept& block = kept[size_t(b)];
  Placer placer(&arena, precision);
  block.place_rest(placer, config, inputs.sizes);
  with_unit({Unit::kBlock, b}, Phase::kRecompute,
            [&] { block_forward(inputs, blocks[size_t(b)], block, b, Phase::kRecompute); });
}

void Dit::State::run_head() {
  const DitBuffers& b = buffers;
  const int64_t D = config.width;
  with_unit({Unit::kHead, 0}, Phase::kForward, [&] {
    const Tensor shift = b.head_modulation.columns(0, D), scale = b.head_modulation.columns(D, 2 * D);
    const Tensor time = time_vector(b.modulation);
    ops.add_row(shift, time, head_modulation.value.slice_rows(0, 1).reshape({D}));
    ops.add_row(scale, time, head_modulation.value.slice_rows(1, 2).reshape({D}));
    ops.layer_norm_modulate(b.head_normed, b.head_stats, b.x, shift, scale, b.segment, config.epsilon);
    ops.linear(b.prediction, b.head_normed, *head.weight, head.bias);
  });
}

void Dit::State::head_backward(const Tensor& doutput) {
  const DitBuffers& b = buffers;
  const int64_t D = config.width, S = b.modulation.rows();
  const ArenaScope scope(arena);
  Placer placer(&arena, precision);
  with_unit({Unit::kHead, 0}, Phase::kBackward, [&] {
    const Tensor dnormed = placer.narrow(b.x.rows(), D), dmodulation = placer.wide(S, 2 * D);
    ops.linear_backward_weight(head.dweight, head.dbias, doutput, b.head_normed);
    ops.linear_backward_input(dnormed, doutput, *head.weight);
    ops.zero(dmodulation);
    const Tensor dshift = dmodulation.columns(0, D), dscale = dmodulation.columns(D, 2 * D);
    ops.layer_norm_modulate_backward(b.dx, dshift, dscale, dnormed, b.x, b.head_stats,
                                     b.head_modulation.columns(D, 2 * D), b.segment);
    for (int64_t row = 0; row < 2; ++row) {
      const Tensor& part = row == 0 ? dshift : dscale;
      ops.add_row_backward(head_modulation.grad.slice_rows(row, row + 1).reshape({D}), part);
      ops.add(time_vector(b.dmodulation), part);
    }
  });
  hooks.gradients->unit_done({Unit::kHead, 0});
}

Dit::Dit(const ModelConfig& config, Precision precision, const Ops& ops, const Parameters& parameters,
         ParallelHooks hooks, Arena& arena)
    : state_(std::make_unique<State>(config, precision, ops, parameters, hooks, arena)) {}
Dit::~Dit() = default;

const ModelConfig& Dit::config() const { return state_->config; }

Tensor Dit::forward(const MicroBatch& batch, const DitInput& input, bool keep) {
  State& s = *state_;
  const BatchSizes sizes{batch.num_tokens(), int64_t(batch.segments.size())};
  s.check(batch, input);
  Placer placer(&s.arena, s.precision);
  s.buffers = {};
  s.buffers.place(placer, s.config, sizes, keep);
  if (sizes.tokens == 0) {
    s.touch_units(Phase::kForward);
    return s.buffers.prediction;
  }
  fill_segment_ids(s.buffers.segment, batch);
  fill_rotation(s.buffers.rotation, batch);
  s.text_items.clear();
  const int64_t L = s.config.text_rows;
  for (int64_t i = 0; i < sizes.segments; ++i) {
    const Segment& segment = batch.segments[size_t(i)];
    s.text_items.push_back({segment.row, segment.row + segment.num_tokens(), i * L, (i + 1) * L});
  }
  if (s.has_embeddings()) s.embed(input);
  BlockRange::Boundary boundary{s.buffers.x, s.buffers.modulation, s.buffers.text};
  s.hooks.blocks->receive_forward(boundary);
  s.run_blocks(s.inputs_of(batch), keep);
  boundary.x = s.buffers.x;
  s.hooks.blocks->send_forward(boundary);
  if (s.has_head()) s.run_head();
  return s.buffers.prediction;
}

void Dit::backward(const MicroBatch& batch, const DitInput& input, const Tensor& doutput) {
  State& s = *state_;
  DitBuffers& b = s.buffers;
  ZT_CHECK(b.dx.defined() && b.dx.rows() == batch.num_tokens(),
           "backward without a forward that kept its tensors");
  if (batch.num_tokens() == 0) {
    s.touch_units(Phase::kBackward);
    b = {};
    return;
  }
  for (const Tensor& gradient : {b.dx, b.dmodulation, b.dtext}) s.ops.zero(gradient);
  if (s.has_head()) s.head_backward(doutput);
  BlockRange::Boundary boundary{b.dx, b.dmodulation, b.dtext};
  s.hooks.blocks->receive_backward(boundary);
  const BlockInputs inputs = s.inputs_of(batch);
  for (int64_t i = s.end_block(); i-- > s.first_block();) {
    if (s.config.recompute) s.recompute(inputs, i);
    s.with_unit({Unit::kBlock, i}, Phase::kBackward, [&] {
      block_backward(inputs, s.blocks[size_t(i)], s.kept[size_t(i)], i, b.dx, s.six_vectors(b.dmodulation),
                     b.dtext);
    });
    s.hooks.gradients->unit_done({Unit::kBlock, i});
    s.arena.release(s.marks[size_t(i)]);
  }
  s.hooks.blocks->send_backward(boundary);
  if (s.has_embeddings()) s.embed_backward(input);
  b = {};
  s.kept.clear();
}

}  // namespace zoetrope
