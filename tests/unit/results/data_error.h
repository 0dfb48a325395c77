#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.h"

namespace railgauge::results {

/// The text of the Error{data} that `call` throws; "accepted" where it throws none. Another kind fails the test.
inline std::string data_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
    return error.what();
  }
  return "accepted";
}

}  // namespace railgauge::results
