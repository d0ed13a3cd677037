// One step ahead: plans and reads step t+1 on a thread while step t runs.
#include <future>

#include "core/check.h"
#include "schedule/loader.h"

namespace zoetrope {

/// `order` and `next_draw` belong to the running task; `next` touches them only after the task has ended.
struct Prefetcher::State {
  State(const Dataset& dataset_value, SampleOrder order_value, Config config_value, int64_t first_draw)
      : dataset(dataset_value),
        lengths(dataset_value.lengths()),
        order(std::move(order_value)),
        config(std::move(config_value)),
        next_draw(first_draw) {}

  void start() {
    pending = std::async(std::launch::async, [this] {
      Loaded loaded;
      loaded.step = plan_step(lengths, order, config, next_draw);
      for (int64_t wave = 0; wave < int64_t(loaded.step.plan.waves.size()); ++wave)
        loaded.waves.push_back(load_micro_batch(dataset, loaded.step, wave, config.slot));
      return loaded;
    });
  }

  const Dataset& dataset;
  const std::vector<int64_t> lengths;
  SampleOrder order;
  const Config config;
  int64_t next_draw;
  std::exception_ptr failure;
  std::future<Loaded> pending;  // last: its destructor waits for the task that uses the rest
};

Prefetcher::Prefetcher(const Dataset& dataset, SampleOrder order, Config config, int64_t first_draw) {
  ZT_CHECK(config.batch > 0, "batch of ", config.batch, " samples");
  ZT_CHECK(config.slot >= 0 && config.slot < config.cluster.num_slots, "slot ", config.slot, " of ",
           config.cluster.num_slots);
  state_ = std::make_unique<State>(dataset, std::move(order), std::move(config), first_draw);
  state_->start();
}

Prefetcher::~Prefetcher() = default;

Prefetcher::Loaded Prefetcher::next() {
  if (state_->failure) std::rethrow_exception(state_->failure);
  try {
    Loaded loaded = state_->pending.get();
    state_->next_draw += state_->config.batch;
    state_->start();
    return loaded;
  } catch (...) {
    state_->failure = std::current_exception();
    throw;
  }
}

}  // namespace zoetrope
