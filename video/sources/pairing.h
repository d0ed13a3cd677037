// Puts media and what the layouts offer about them together: clips with captions, parts and reasons. Used by
// video/sources/ingest_plan.
#pragma once

#include <vector>

#include "video/sources/ingest_plan.h"

namespace zoetrope {

/// Every media file of a folder with its clips, by path; media that a table names and that aren't there are
/// refused. Offers in order of layout, the files' own order within. Throws: Error when the layouts disagree
/// about a clip, listing them.
IngestPlan pair_offers(const FoundFiles& files, const std::vector<CaptionOffer>& offers,
                       const IngestPlanOptions& options);

/// Repeated captions of a finished plan, into its report.
void count_repeated_captions(IngestPlan& plan);
/// Refuses clips of the same name, which a data set can't tell apart.
void refuse_equal_names(IngestPlan& plan);

}  // namespace zoetrope
