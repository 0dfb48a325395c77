// Device memory and a NIC, both stand-ins: which ways of registration are tried, and that data goes through them, also between
// two processes. What registers and moves is lib/verbs and libibverbs' own calls; the stand-in NIC is loaded before them.
#include "verbs/memory_region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>

#include "base/error.h"
#include "cuda/device_buffer.h"
#include "unit/cuda/stand_in.h"
#include "unit/sim/child.h"
#include "unit/sim/pair.h"
#include "verbs/registration_errors.h"

namespace railgauge::cuda {
namespace {

using memory::Pattern;
using memory::Way;
using simtest::Endpoint;
using test::StandIn;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kBytes = 200'000;

/// The devices of nics.conf.
enum Nic { all_ways, peermem_only, no_way };

/// Scripts the NICs that are opened while it lives.
struct Faults {
  explicit Faults(const char* script) { setenv("RAILGAUGE_SIM_FAULTS", script, 1); }
  ~Faults() { unsetenv("RAILGAUGE_SIM_FAULTS"); }
};

/// A GPU and a NIC of this process.
struct Host {
  explicit Host(Nic which = all_ways, const std::string& gpu = "", const std::string& gpu_faults = "")
      : nic({.device = which}),
        stand_in(gpu, gpu_faults),
        source(stand_in.driver, stand_in.device(), test::stand_in_image()),
        block(source.allocate(kBytes)) {}
  verbs::RegionRequest request() const {
    return {.pd = nic.pd, .memory = block->registrations(), .remote_write = true, .remote_read = true, .remote_atomic = true, .relaxed_ordering = false};
  }
  Endpoint nic;
  StandIn stand_in;
  DeviceSource source;
  std::unique_ptr<memory::Block> block;
};

std::vector<std::string> tried(const std::vector<memory::RegistrationAttempt>& attempts) {
  std::vector<std::string> all;
  for (const auto& a : attempts) all.push_back(a.name + ", " + a.call + ": " + std::to_string(a.code));
  return all;
}

Error refusal(const verbs::RegionRequest& request) {
  try {
    const verbs::Region region(request);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::data, "was not refused");
}

TEST(Region, TakesTheFirstWayThatWorksAndKeepsTheOthersReasons) {
  const Host host;
  const verbs::Region region(host.request());
  EXPECT_EQ(region.way(), "dma-buf");
  EXPECT_THAT(tried(region.attempts()), ElementsAre("dma-buf, PCIe mapping, cuMemGetHandleForAddressRange: 801", "dma-buf, ibv_reg_dmabuf_mr: 0"));
  EXPECT_EQ(region.attempts().back().flags, "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC");
}

TEST(Region, FallsBackToPeermemAndNotFurther) {
  const Host host(peermem_only);
  const verbs::Region region(host.request());
  EXPECT_EQ(region.way(), "peermem");
  EXPECT_THAT(tried(region.attempts()), ElementsAre("dma-buf, PCIe mapping, cuMemGetHandleForAddressRange: 801", "dma-buf, ibv_reg_dmabuf_mr: 95", "peermem, ibv_reg_mr: 0"));
  EXPECT_THAT(region.attempts()[1].meaning, HasSubstr("the NIC's driver does not take dma-bufs"));
}

TEST(Region, WithoutAWayItIsUnsupportedAndNamesEach) {
  const Host host(no_way);
  verbs::RegionRequest request = host.request();
  request.relaxed_ordering = true;  // tried with and without; said once
  const Error error = refusal(request);
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("device memory cannot be registered with sim5; dma-buf, PCIe mapping: cuMemGetHandleForAddressRange"),
                                  HasSubstr("; dma-buf: ibv_reg_dmabuf_mr with LOCAL_WRITE"), HasSubstr("; peermem: ibv_reg_mr"), HasSubstr("modprobe nvidia-peermem")));
  EXPECT_THAT(error.what(), testing::Not(HasSubstr("ibv_reg_dmabuf_mr with LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC|RELAXED_ORDERING")));
}

TEST(Region, AForcedWayIsTheOnlyOne) {
  const Host host(peermem_only);
  verbs::RegionRequest request = host.request();
  request.only = Way::dmabuf;
  EXPECT_EQ(refusal(request).kind(), ErrorKind::unsupported);
  EXPECT_THAT(refusal(request).what(), testing::Not(HasSubstr("peermem")));
  request.only = Way::peermem;
  const verbs::Region region(request);
  EXPECT_THAT(tried(region.attempts()), ElementsAre("peermem, ibv_reg_mr: 0"));
  request.only = Way::host;
  EXPECT_EQ(refusal(request).kind(), ErrorKind::usage);
}

TEST(Region, AFullBarIsNoLackOfAbility) {
  const Faults faults("fail reg_dmabuf_mr errno 12");
  const Host host;
  const Error error = refusal([&] {
    verbs::RegionRequest request = host.request();
    request.only = Way::dmabuf;
    return request;
  }());
  EXPECT_EQ(error.kind(), ErrorKind::verbs);
  EXPECT_EQ(error.code(), ENOMEM);
  EXPECT_THAT(error.what(), HasSubstr("BAR1"));
}

/// A driver that breaks is not one that lacks the ability.
TEST(Region, ABrokenExportIsNoLackOfAbility) {
  const Host host(all_ways, "", "fail cuMemGetHandleForAddressRange code 999");
  verbs::RegionRequest request = host.request();
  request.only = Way::dmabuf;
  const Error error = refusal(request);
  EXPECT_EQ(error.kind(), ErrorKind::verbs);
  EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_UNKNOWN (999)"));
}

TEST(Region, RegistersAgainAfterItWasGivenBack) {
  const Host host;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(verbs::Region(host.request()).way(), "dma-buf");
}

TEST(ProbeDmabuf, AsksWithoutABuffer) {
  {
    const Endpoint nic;
    const verbs::DmabufProbe yes = verbs::probe_dmabuf(nic.pd);
    EXPECT_EQ(yes.supported, true);
    EXPECT_EQ(yes.code, EBADF);
  }
  const Endpoint nic({.device = peermem_only});
  const verbs::DmabufProbe no = verbs::probe_dmabuf(nic.pd);
  EXPECT_EQ(no.supported, false);
  EXPECT_EQ(no.code, EOPNOTSUPP);
}

/// verbs-facts.md 5.3.
TEST(StandInNic, KeepsTheRulesOfDmabufs) {
  const Host host;
  const memory::Registration good = host.block->registrations().offered.at(0);
  auto code_of = [&](std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int fd, int access) {
    errno = 0;
    ibv_mr* mr = ibv_reg_dmabuf_mr(host.nic.pd, offset, bytes, iova, fd, access);
    if (mr == nullptr) return errno;
    EXPECT_EQ(reinterpret_cast<std::uint64_t>(mr->addr), offset) << "mr->addr is the offset";
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    return 0;
  };
  const int fd = good.dmabuf_fd.value_or(-1);
  EXPECT_EQ(code_of(0, 65'536, good.address, fd, IBV_ACCESS_LOCAL_WRITE), 0);
  EXPECT_EQ(code_of(8'192 + 24, 100, good.address + 24, fd, IBV_ACCESS_LOCAL_WRITE), 0);
  EXPECT_EQ(code_of(8'192 + 24, 100, good.address + 25, fd, IBV_ACCESS_LOCAL_WRITE), EINVAL);  // differ within the page
  EXPECT_EQ(code_of(65'536, good.bytes, good.address, fd, IBV_ACCESS_LOCAL_WRITE), EINVAL);    // beyond the end
  EXPECT_EQ(code_of(0, 65'536, good.address, fd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND), EINVAL);
  EXPECT_EQ(code_of(0, 65'536, good.address, 0, IBV_ACCESS_LOCAL_WRITE), EBADF);
}

/// What a peer needs to know.
struct Exposed {
  std::uint64_t address;
  std::uint32_t rkey;
};

/// A request from one block to the other, `offset` bytes behind the begin of both.
int post(Host& host, const verbs::Region& region, const Exposed& peer, ibv_wr_opcode opcode, std::uint32_t bytes, std::uint64_t offset) {
  return host.nic.post(opcode, bytes, {}, [&](ibv_send_wr& wr) {
    *wr.sg_list = {host.block->address() + offset, bytes, region.lkey()};
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic.remote_addr = peer.address + offset;
      wr.wr.atomic.rkey = peer.rkey;
      wr.wr.atomic.compare_add = 5;
    } else {
      wr.wr.rdma.remote_addr = peer.address + offset;
      wr.wr.rdma.rkey = peer.rkey;
    }
  });
}

bool agrees(Host& host, std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed) {
  const memory::PatternCheck check = host.block->check(offset, bytes, offset, Pattern{.seed = seed});
  return check.mismatched_bytes == 0;
}

void transfer_between_two_processes(Way way) {
  simtest::Child child([way](int socket) {
    Host host(all_ways, "[gpu]; [gpu]");
    verbs::RegionRequest request = host.request();
    request.only = way;
    const verbs::Region region(request);
    simtest::meet(host.nic, socket);
    host.block->fill(150'000, 40'000, 150'000, Pattern{.seed = 22});
    const std::uint64_t before = 37;
    host.block->write(8, &before, sizeof before);
    simtest::give(socket, Exposed{host.block->address(), region.rkey()});
    simtest::take<char>(socket);
    EXPECT_TRUE(agrees(host, 4'100, 100'000, 11));
    std::uint64_t after = 0;
    host.block->read(8, &after, sizeof after);
    EXPECT_EQ(after, 42U);
    return true;
  });
  Host host;
  verbs::RegionRequest request = host.request();
  request.only = way;
  const verbs::Region region(request);
  simtest::meet(host.nic, child.socket);
  host.block->fill(4'100, 100'000, 4'100, Pattern{.seed = 11});
  const auto peer = simtest::take<Exposed>(child.socket);
  ASSERT_EQ(post(host, region, peer, IBV_WR_RDMA_WRITE, 100'000, 4'100), 0);
  ASSERT_EQ(host.nic.next_status(), IBV_WC_SUCCESS);
  ASSERT_EQ(post(host, region, peer, IBV_WR_RDMA_READ, 40'000, 150'000), 0);
  ASSERT_EQ(host.nic.next_status(), IBV_WC_SUCCESS);
  EXPECT_TRUE(agrees(host, 150'000, 40'000, 22));
  ASSERT_EQ(post(host, region, peer, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 8), 0);
  ASSERT_EQ(host.nic.next_status(), IBV_WC_SUCCESS);
  std::uint64_t fetched = 0;
  host.block->read(8, &fetched, sizeof fetched);
  EXPECT_EQ(fetched, 37U);
  simtest::give(child.socket, 'q');
  EXPECT_TRUE(child.succeeded());
}

TEST(TwoProcesses, MoveDataBetweenGpusByDmabuf) { transfer_between_two_processes(Way::dmabuf); }
TEST(TwoProcesses, MoveDataBetweenGpusByPeermem) { transfer_between_two_processes(Way::peermem); }

/// A byte that the NIC spoils on the way is found on the GPU.
TEST(TwoProcesses, ASpoiltByteIsFoundInDeviceMemory) {
  const Faults faults("message 1 flip byte 777");
  Host near;
  Host far;
  near.nic.connect(far.nic.qp->qp_num);
  far.nic.connect(near.nic.qp->qp_num);
  const verbs::Region from(near.request());
  const verbs::Region to(far.request());
  near.block->fill(64, 5'000, 64, Pattern{.seed = 3});
  ASSERT_EQ(post(near, from, {far.block->address(), to.rkey()}, IBV_WR_RDMA_WRITE, 5'000, 64), 0);
  ASSERT_EQ(near.nic.next_status(), IBV_WC_SUCCESS);
  const memory::PatternCheck found = far.block->check(64, 5'000, 64, Pattern{.seed = 3});
  EXPECT_EQ(found.mismatched_bytes, 1U);
  EXPECT_EQ(found.first_offset, 64U + 777U);
}

TEST(RegistrationMeaning, KnowsTheNumberThatStrerrorDoesNot) {
  EXPECT_THAT(verbs::registration_meaning(Way::dmabuf, 524), HasSubstr("no peer-to-peer way"));
  EXPECT_THAT(verbs::registration_meaning(Way::peermem, EFAULT), HasSubstr("nvidia-peermem"));
  EXPECT_EQ(verbs::registration_meaning(Way::host, EPERM), "Operation not permitted");
}

}  // namespace
}  // namespace railgauge::cuda
