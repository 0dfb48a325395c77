#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.h"

namespace railgauge::results {

/// The text of the Error of this kind that `call` throws; "accepted" where it throws none. Another kind fails the test.
inline std::string error_of(ErrorKind kind, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "accepted";
}

/// Of a record file.
inline std::string data_error(const std::function<void()>& call) { return error_of(ErrorKind::data, call); }
/// Of what came over the control channel.
inline std::string peer_error(const std::function<void()>& call) { return error_of(ErrorKind::peer, call); }

}  // namespace railgauge::results
