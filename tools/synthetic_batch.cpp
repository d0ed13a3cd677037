#include "tools/synthetic_batch.h"

namespace zoetrope {

MicroBatch make_synthetic_batch(const Plan& plan, int64_t wave, int slot, const std::vector<int64_t>& lengths,
                                const ModelConfig& model) {
  MicroBatch batch;
  batch.wave = wave;
  int64_t rows = 0;
  for (const Shard& shard : plan.waves.at(size_t(wave)).slots.at(size_t(slot))) {
    Segment segment;
    segment.sample = segment.draw = shard.sample;
    segment.begin = shard.begin;
    segment.end = shard.end;
    segment.sample_tokens = lengths.at(size_t(shard.sample));
    segment.grid = {segment.sample_tokens, 1, 1};
    segment.row = rows;
    segment.caption = "a clip for measurements";
    rows += shard.num_tokens();
    batch.segments.push_back(segment);
  }
  batch.tokens = Tensor::empty({rows, model.in_features()}, DType::kU8);
  uint8_t* pixels = batch.tokens.data<uint8_t>();
  for (int64_t i = 0; i < batch.tokens.size(); ++i) pixels[i] = uint8_t((i * 2654435761u) >> 16);
  return batch;
}

Plan plan_of_equal_slots(int64_t num_slots, const std::vector<int64_t>& lengths_of_slot) {
  Plan plan;
  plan.waves.resize(1);
  plan.waves[0].slots.resize(size_t(num_slots));
  int64_t sample = 0;
  for (auto& slot : plan.waves[0].slots)
    for (const int64_t tokens : lengths_of_slot) slot.push_back({sample++, 0, tokens});
  return plan;
}

Plan plan_of_one_ring(int64_t num_slots, int64_t tokens) {
  Plan plan;
  plan.waves.resize(1);
  for (int64_t slot = 0; slot < num_slots; ++slot)
    plan.waves[0].slots.push_back({{0, tokens * slot / num_slots, tokens * (slot + 1) / num_slots}});
  list_rings(plan);
  return plan;
}

}  // namespace zoetrope
