// Asks for large pages under a big buffer before it is filled: the first touch of each small page costs as
// much as copying it. Used where ingest fills buffers of many frames.
#pragma once

#include <cstddef>

namespace zoetrope {

/// A hint that changes nothing but speed; buffers below 8 MiB are left alone.
void prefer_big_pages(void* memory, size_t bytes);

}  // namespace zoetrope
