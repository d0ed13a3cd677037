#include "video/pixels/picture_job.h"

#include "video/pixels/band.h"
#include "video/pixels/finish.h"
#include "video/pixels/lanes_avx2.h"

namespace zoetrope::pixels {
namespace {

#ifdef __AVX2__
using BestLanes = Avx2Lanes;
#else
using BestLanes = PlainLanes;
#endif

template <class Lanes>
void run(const PictureJob& job) {
  if (job.tone_map != nullptr) {
    const ToneMapFinish<Lanes> finish(job.signals, *job.tone_map);
    BandConverter<Lanes, ToneMapFinish<Lanes>>(job, finish).run();
    return;
  }
  const MatrixFinish<Lanes> finish(job.mix);
  BandConverter<Lanes, MatrixFinish<Lanes>>(job, finish).run();
}

}  // namespace

void run_picture_job(const PictureJob& job) { run<BestLanes>(job); }
void run_picture_job_plainly(const PictureJob& job) { run<PlainLanes>(job); }

}  // namespace zoetrope::pixels
