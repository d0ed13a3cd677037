// Replay of recorded steps: cases computed by hand, and the traces that ranks really record.
#include "schedule/replay.h"

#include <gtest/gtest.h>

#include "core/check.h"
#include "parallel/comm_recording.h"

namespace zoetrope {
namespace {

ReplayEvent compute(int64_t ns) { return {ReplayEvent::kCompute, ns, 0, {}}; }
ReplayEvent post(int64_t number, std::vector<ReplayMessage> messages) {
  return {ReplayEvent::kPost, number, 0, std::move(messages)};
}
ReplayEvent await(int64_t number) { return {ReplayEvent::kAwait, number, 0, {}}; }
ReplayEvent join(int64_t number, int64_t bytes) { return {ReplayEvent::kPostCollective, number, bytes, {}}; }
ReplayEvent await_collective(int64_t number) { return {ReplayEvent::kAwaitCollective, number, 0, {}}; }
ReplayEvent swap_with(int peer, int64_t number, int64_t bytes) {
  return post(number, {{true, peer, 0, bytes}, {false, peer, 0, bytes}});
}

constexpr LinkModel kByteLink{1e9, 5, 0, 0};  // one byte per ns, 5 ns latency

TEST(Replay, ShortBlockLeavesPartOfTheTransferExposed) {
  const auto rank = [](int peer) {
    return ReplayTrace{compute(10), swap_with(peer, 0, 1000), compute(600), await(0), compute(200)};
  };
  const ReplayResult result = replay({rank(1), rank(0)}, kByteLink);
  EXPECT_EQ(result.total_ns, 10 + 1000 + 5 + 200);
  EXPECT_EQ(result.busy_ns, (std::vector<int64_t>{810, 810}));
  EXPECT_EQ(result.wait_ns, (std::vector<int64_t>{405, 405}));
  ASSERT_EQ(result.spans[0].size(), 3u);  // neighbours of a kind are joined
  EXPECT_EQ(result.spans[0][1].kind, ReplaySpan::kWait);
  EXPECT_EQ(result.spans[0][1].begin_ns, 610);
  EXPECT_EQ(result.spans[0][1].end_ns, 1015);
}

TEST(Replay, LongBlockHidesTheTransfer) {
  const auto rank = [](int peer) {
    return ReplayTrace{compute(10), swap_with(peer, 0, 1000), compute(2000), await(0), compute(200)};
  };
  const ReplayResult result = replay({rank(1), rank(0)}, kByteLink);
  EXPECT_EQ(result.total_ns, 2210);
  EXPECT_EQ(result.wait_ns, (std::vector<int64_t>{0, 0}));
  EXPECT_DOUBLE_EQ(result.max_over_mean(), 1);
}

TEST(Replay, TransferStartsWhenTheLaterEndIsPosted) {
  const ReplayResult result = replay({{compute(100), swap_with(1, 0, 50), compute(20), await(0), compute(1)},
                                      {compute(400), swap_with(0, 0, 50), compute(30), await(0), compute(1)}},
                                     kByteLink);
  EXPECT_EQ(result.total_ns, 400 + 50 + 5 + 1);
  EXPECT_EQ(result.wait_ns, (std::vector<int64_t>{455 - 120, 455 - 430}));
  EXPECT_DOUBLE_EQ(result.max_over_mean(), 431.0 * 2 / (121 + 431));
  EXPECT_DOUBLE_EQ(result.mean_wait_ns(), (335 + 25) / 2.0);
}

TEST(Replay, MessagesShareThePortOfTheirRank) {
  // Rank 0 sends to both others at once: its port serves them one after the other, in issue order.
  const ReplayResult out = replay({{post(0, {{true, 1, 0, 100}, {true, 2, 0, 100}}), await(0)},
                                   {post(0, {{false, 0, 0, 100}}), await(0)},
                                   {post(0, {{false, 0, 0, 100}}), await(0)}},
                                  kByteLink);
  EXPECT_EQ(out.wait_ns, (std::vector<int64_t>{205, 105, 205}));
  // The two directions of a pair are independent.
  const ReplayResult both =
      replay({{swap_with(1, 0, 100), await(0)}, {swap_with(0, 0, 100), await(0)}}, kByteLink);
  EXPECT_EQ(both.total_ns, 105);
}

TEST(Replay, InOrderAMessageWaitsForTheOneBefore) {
  // Rank 0 sends to rank 1, which comes late, and then to rank 2, which is there.
  const std::vector<ReplayTrace> traces{{post(0, {{true, 1, 0, 100}}), post(1, {{true, 2, 0, 10}}), await(1)},
                                        {compute(300), post(0, {{false, 0, 0, 100}}), await(0)},
                                        {post(0, {{false, 0, 0, 10}}), await(0)}};
  EXPECT_EQ(replay(traces, kByteLink).wait_ns, (std::vector<int64_t>{15, 105, 15}));
  LinkModel link = kByteLink;
  link.in_order = true;
  EXPECT_EQ(replay(traces, link).wait_ns, (std::vector<int64_t>{415, 105, 415}));
}

TEST(Replay, LinksBetweenNodesHaveTheirOwnRate) {
  LinkModel link = kByteLink;
  link.ranks_per_node = 2;
  link.between_bytes_per_second = 1e8;
  link.between_latency_ns = 70;
  const ReplayTrace to_2{post(0, {{true, 2, 0, 100}}), await(0)},
      from_1{post(0, {{false, 1, 0, 100}}), await(0)};
  EXPECT_EQ(replay({{}, to_2, from_1}, link).total_ns, 1000 + 70);
  EXPECT_EQ(replay({{swap_with(1, 0, 100), await(0)}, {swap_with(0, 0, 100), await(0)}}, link).total_ns, 105);
}

TEST(Replay, ThreeRanksInARingWithUnevenBlocks) {
  // K, V of 30, 60, 90 bytes go round twice; each rank computes as long as its block is big, per block.
  // Step 1 is posted at 0: rank r receives the block of r - 1 at its size + 5 (90, 30, 60 -> 95, 35, 65).
  const auto rank = [](int me, int64_t own, int64_t first, int64_t second) {
    const int to = (me + 1) % 3, from = (me + 2) % 3, to2 = (me + 2) % 3, from2 = (me + 1) % 3;
    return ReplayTrace{post(0, {{true, to, 0, own}, {false, from, 0, first}}),
                       compute(own),
                       await(0),
                       post(1, {{true, to2, 0, own}, {false, from2, 0, second}}),
                       compute(own),
                       await(1),
                       compute(own)};
  };
  const ReplayResult result =
      replay({rank(0, 30, 90, 60), rank(1, 60, 30, 90), rank(2, 90, 60, 30)}, kByteLink);
  // Await of step 1 covers both directions: rank 0 sends until 35, receives until 95 -> 95; rank 1 sends
  // until 65, receives until 35, computes until 60 -> 65; rank 2 sends until 95, computes until 90 -> 95.
  // Step 2: 1 -> 0 ready at 95 (60 bytes): 160; 2 -> 1 at 95 (90): 190; 0 -> 2 at 95 (30): 130.
  // Rank 0: sends until 130, receives until 160 -> 160 + 30. Rank 1: sends until 160, receives until 190 ->
  // 190 + 60. Rank 2: sends until 190, computes until 185 -> 190 + 90.
  EXPECT_EQ(result.total_ns, 280);
  EXPECT_EQ(result.wait_ns, (std::vector<int64_t>{(95 - 30) + (160 - 125), (65 - 60) + (190 - 125), 5 + 5}));
}

TEST(Replay, CollectiveEndsAfterTheLastRank) {
  const LinkModel link{0, 0, 7, 0.5};
  const ReplayResult result = replay({{compute(10), join(0, 100), await_collective(0), compute(3)},
                                      {compute(40), join(0, 100), compute(20), await_collective(0)}},
                                     link);
  EXPECT_EQ(result.collective_ns, (std::vector<int64_t>{40 + 7 + 50 - 10, 97 - 60}));
  EXPECT_EQ(result.total_ns, 100);
  EXPECT_EQ(result.wait_ns, (std::vector<int64_t>{0, 0}));
  // Two in flight go one after the other.
  const ReplayTrace two{join(0, 100), join(1, 200), await_collective(1), await_collective(0)};
  EXPECT_EQ(replay({two, two}, link).total_ns, 57 + 107);
}

TEST(Replay, SaysWhoWaitsForWhom) {
  EXPECT_THROW(replay({{swap_with(1, 0, 10), await(0)}, {}}, kByteLink), Error);
  EXPECT_THROW(replay({{swap_with(1, 0, 10), await(0)}, {swap_with(0, 0, 11), await(0)}}, kByteLink), Error);
  EXPECT_THROW(replay({{swap_with(2, 0, 10), await(0)}, {}}, kByteLink), Error);
  EXPECT_THROW(replay({{await(0)}}, kByteLink), Error);
  EXPECT_THROW(replay({{join(0, 1), await_collective(0)}, {compute(1)}}, kByteLink), Error);
  // A circle: each waits for what the other posts only afterwards.
  const auto rank = [](int peer, int tag) {
    return ReplayTrace{post(0, {{false, peer, tag, 1}}), await(0), post(1, {{true, peer, 1 - tag, 1}}),
                       await(1)};
  };
  EXPECT_THROW(replay({rank(1, 0), rank(0, 1)}, kByteLink), Error);
}

int64_t fake_time = 0;
int64_t fake_clock() { return fake_time; }

TEST(ReplayRecorder, PiecesLieBetweenExchangesAndWaits) {
  fake_time = 1000;
  ReplayRecorder recorder(fake_clock);
  recorder.begin();
  recorder.mark(4);
  fake_time = 1010;
  EXPECT_EQ(recorder.post({{true, 1, 0, 8}}), 0);
  fake_time = 1015;
  recorder.wait_begins();
  fake_time = 1500;  // spent waiting: no piece
  recorder.waited(0);
  fake_time = 1507;
  EXPECT_EQ(recorder.post_collective(64), 0);
  recorder.wait_begins();
  fake_time = 1900;
  recorder.waited_for_collective(0);
  fake_time = 1901;
  recorder.end();
  const ReplayTrace expected{{ReplayEvent::kMark, 4, 0, {}},
                             compute(10),
                             post(0, {{true, 1, 0, 8}}),
                             compute(5),
                             await(0),
                             compute(7),
                             join(0, 64),
                             await_collective(0),
                             compute(1)};
  EXPECT_EQ(recorder.trace(), expected);
  recorder.mark(5);  // outside begin and end nothing is kept
  EXPECT_EQ(recorder.trace(), expected);
}

TEST(ReplayRecorder, TracesSurvivePacking) {
  const ReplayTrace trace{compute(10), post(0, {{true, 1, 3, 8}, {false, 2, 3, 9}}), await(0), join(0, 64)};
  EXPECT_EQ(unpack_trace(pack_trace(trace)), trace);
  EXPECT_EQ(unpack_trace({}), ReplayTrace{});
  std::vector<int64_t> numbers = pack_trace(trace);
  numbers.pop_back();
  EXPECT_THROW(unpack_trace(numbers), Error);
  numbers[0] = 99;
  EXPECT_THROW(unpack_trace(numbers), Error);
}

TEST(ReplayRecorder, RecordsWhatRanksReallyExchange) {
  for (const int size : {1, 2, 3}) {
    std::vector<ReplayTrace> traces;
    run_local_ranks(size, [&](Comm& inner) {
      ReplayRecorder recorder;
      const std::unique_ptr<Comm> comm = make_recording_comm(inner, recorder);
      recorder.begin();
      const int me = comm->rank();
      int64_t sent = me, received = -1;
      if (size > 1) {
        const auto transfer = comm->exchange({{(me + 1) % size, &sent, sizeof sent, 5}},
                                             {{(me + size - 1) % size, &received, sizeof received, 5}});
        transfer->wait();
        EXPECT_EQ(received, (me + size - 1) % size);
      }
      const Tensor values = Tensor::zeros({4}, DType::kF32);
      comm->start_all_reduce_sum(values)->wait();
      comm->barrier();
      recorder.end();
      const std::vector<ReplayTrace> all = gather_traces(inner, recorder.trace());
      if (me == 0) traces = all;
    });
    ASSERT_EQ(int(traces.size()), size);
    for (int rank = 0; rank < size; ++rank) {
      ReplayTrace exchanges;
      for (const ReplayEvent& event : traces[size_t(rank)])
        if (event.kind != ReplayEvent::kCompute) exchanges.push_back(event);
      ReplayTrace expected;
      if (size > 1)
        expected = {post(0, {{true, (rank + 1) % size, 5, 8}, {false, (rank + size - 1) % size, 5, 8}}),
                    await(0)};
      for (const ReplayEvent& event : {join(0, 16), await_collective(0), join(1, 0), await_collective(1)})
        expected.push_back(event);
      EXPECT_EQ(exchanges, expected) << "rank " << rank << " of " << size;
    }
    EXPECT_GE(replay(traces, {}).total_ns, 0);
  }
}

}  // namespace
}  // namespace zoetrope
