#include "bench/byte_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

results::SideResult side_with(const char* counter, std::uint64_t octets) {
  results::SideResult side;
  host::CounterDelta delta;
  delta.name = counter;
  delta.delta = host::Fact<std::uint64_t>::of(octets / 4);
  side.counters.push_back(delta);
  return side;
}

// 10 GB in messages of 64 KiB and packets of 4 KiB.
const Moved kMoved{.bytes = 10'000'000'000, .messages = 152'588, .packets = 2'441'407};

std::vector<std::string> warnings(const Transfers& moved, results::SideResult side, bool one_host = false) {
  check_bytes(moved, one_host, side);
  return side.warnings;
}

TEST(ByteCheck, HeadersAndThreePerCentAreNoOtherTraffic) {
  Transfers sent{.sent = kMoved, .received = {}};
  EXPECT_THAT(warnings(sent, side_with("port_xmit_data", 10'000'000'000)), IsEmpty());
  EXPECT_THAT(warnings(sent, side_with("port_xmit_data", 9'710'000'000)), IsEmpty());
  // 3 % are 300 MB; 102 B for each of 2 593 995 packets and acknowledgements are 264.6 MB.
  EXPECT_THAT(warnings(sent, side_with("port_xmit_data", 10'560'000'000)), IsEmpty());
}

TEST(ByteCheck, MoreAndLessThanMovedAreSaid) {
  Transfers sent{.sent = kMoved, .received = {}};
  EXPECT_THAT(warnings(sent, side_with("port_xmit_data", 12'000'000'000)), ElementsAre(HasSubstr("other traffic")));
  EXPECT_THAT(warnings(sent, side_with("port_xmit_data", 4'000)), ElementsAre(HasSubstr("did not all go through this port")));
  Transfers received{.sent = {}, .received = kMoved};
  EXPECT_THAT(warnings(received, side_with("port_rcv_data", 12'000'000'000)), ElementsAre(HasSubstr("port_rcv_data grew by")));
}

TEST(ByteCheck, SaysNothingOfWhatIsNotKnown) {
  Transfers sent{.sent = kMoved, .received = {}};
  EXPECT_THAT(warnings(sent, side_with("port_rcv_data", 4'000)), IsEmpty());
  EXPECT_THAT(warnings({}, side_with("port_xmit_data", 4'000)), IsEmpty());
  EXPECT_THAT(warnings(sent, side_with("port_xmit_data", 4'000), true), IsEmpty());
}

}  // namespace
}  // namespace railgauge::bench
