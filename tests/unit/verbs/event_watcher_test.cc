#include "verbs/event_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

namespace railgauge::verbs {
namespace {

using ::testing::HasSubstr;

TEST(EventWatcher, SaysThatItSeesNoMoreEvents) {
  // A channel whose other end has gone: readable for ever, and nothing comes out of it.
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  ::close(ends[1]);
  ibv_context context{};
  context.async_fd = reading.get();
  EventWatcher watcher(&context, 1);
  for (int i = 0; i < 2000 && watcher.events().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(watcher.events().size(), 1U);
  EXPECT_THAT(watcher.events()[0].text, HasSubstr("no longer seen"));
  EXPECT_FALSE(watcher.broken());
}

}  // namespace
}  // namespace railgauge::verbs
