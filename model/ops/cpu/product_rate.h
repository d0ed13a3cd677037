// The best rate that oneDNN itself reaches for a product here: the yardstick of `zoetrope profile` and
// `bench`, free of anything that our own operators do around it.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/thread_pool.h"

namespace zoetrope {

/// Best FLOP/s of y [m, n] = x [m, k] w [k, n], all of type `compute`, within about `seconds` and at least
/// three calls: weights in oneDNN's own blocked layout, prepared outside the measurement; the pool's threads
/// take equal parts of the rows. Throws: Error when oneDNN has no such product.
double library_product_rate(const ThreadPool& pool, int64_t m, int64_t n, int64_t k, DType compute,
                            double seconds);

}  // namespace zoetrope
