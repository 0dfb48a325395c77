#pragma once
#include <gtest/gtest.h>

#include "base/error.h"

namespace railgauge::cluster {

/// The Error that `call` throws; fails the test if it throws none.
template <typename Call>
Error thrown_by(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorKind::system, "nothing was thrown");
}

}  // namespace railgauge::cluster
