// Elastic planner, stacked rings: drafts in which even rings stand one after another on the ranks that are
// free together, and whole samples fill the rest.
#pragma once

#include <cstdint>
#include <optional>

#include "schedule/elastic_blocks.h"
#include "schedule/ring_order.h"
#include "schedule/ring_sizes.h"

namespace zoetrope {

/// Which places rings may have in a pool of nodes.
struct StackStyle {
  int64_t block = 1;  ///< rings lie on whole blocks of so many slots, or on an even part of one; 1: anywhere
  bool fills_holes = false;  ///< no more slots are left between rings than small samples can fill
};

/// Stacks rings and fills whole samples into gaps and tails so that all end by `time`. Nothing when they
/// don't fit. In pools of nodes an `order` is followed, and told what became of the rings.
std::optional<BlockDraft> stack_within(const ElasticBatch& batch, RingSizes& sizes, int64_t time,
                                       const StackStyle& style, RingOrder* order = nullptr);

/// Looks for lower times with the order of rings changed at random, from one that serves on. Planning may
/// take a small part of the time that the step takes. Source: Note [Shuffled rings] in elastic_shuffle.cpp.
void offer_shuffled(const ElasticBatch& batch, const RingOrder& start, BestPlan& best);

/// Offers a draft that ends by `time` as it is, and with waves joined where the same ranks run them one after
/// another.
void offer_draft(const ElasticBatch& batch, BlockDraft draft, int64_t time, BestPlan& best);

}  // namespace zoetrope
