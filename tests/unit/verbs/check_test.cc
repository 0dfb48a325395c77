#include "verbs/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::verbs {
namespace {

template <typename Call>
Error caught(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::system, "nothing was thrown");
}

TEST(Check, PointerConventionTakesErrno) {
  int object = 3;
  EXPECT_EQ(check_pointer(&object, "ibv_create_cq"), &object);
  Error error = caught([] {
    errno = ENOMEM;
    check_pointer<int>(nullptr, "ibv_create_cq of 256 entries on mlx5_0");
  });
  EXPECT_EQ(error.kind(), ErrorKind::verbs);
  EXPECT_EQ(error.code(), ENOMEM);
  EXPECT_STREQ(error.what(), "ibv_create_cq of 256 entries on mlx5_0: Cannot allocate memory");
}

TEST(Check, ValueConventionIsTheErrnoItself) {
  EXPECT_NO_THROW(check_value(0, "ibv_modify_qp"));
  EXPECT_EQ(caught([] { check_value(EINVAL, "ibv_modify_qp"); }).code(), EINVAL);
  // What providers do against the manual.
  EXPECT_EQ(caught([] { check_value(-EBUSY, "ibv_destroy_qp"); }).code(), EBUSY);
  EXPECT_EQ(caught([] {
              errno = ENOSYS;
              check_value(-1, "ibv_query_qp");
            }).code(),
            ENOSYS);
}

TEST(Check, NegativeConventionReturnsWhatIsNot) {
  EXPECT_EQ(check_negative(7, "ibv_query_gid_table"), 7);
  EXPECT_EQ(check_negative(0, "rdma_listen"), 0);
  EXPECT_EQ(caught([] {
              errno = ENODATA;
              check_negative(-1, "ibv_query_gid");
            }).code(),
            ENODATA);
  EXPECT_EQ(caught([] { check_negative(-EINVAL, "ibv_query_gid_table"); }).code(), EINVAL);
}

TEST(Check, FailureIsNeverTheErrnoOfSuccess) {
  EXPECT_EQ(errno_of_value(0), 0);
  EXPECT_EQ(errno_of_value(-ENOMEM), ENOMEM);
  EXPECT_EQ(errno_of_negative(7), 0);
  errno = 0;  // a provider that answers −1 and says nothing more
  EXPECT_EQ(errno_of_value(-1), EIO);
  EXPECT_EQ(errno_of_negative(-1), EIO);
}

}  // namespace
}  // namespace railgauge::verbs
