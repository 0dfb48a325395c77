#include "base/units.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace railgauge {
namespace {

using std::chrono::nanoseconds;

TEST(ParseSize, TakesBinarySuffixesInEitherCase) {
  EXPECT_EQ(parse_size("64k"), 65536u);
  EXPECT_EQ(parse_size("64K"), 65536u);
  EXPECT_EQ(parse_size("8MiB"), 8388608u);
  EXPECT_EQ(parse_size("3GB"), 3221225472u);
  EXPECT_EQ(parse_size("3000"), 3000u);
  EXPECT_EQ(parse_size("17B"), 17u);
  EXPECT_EQ(parse_size("0"), 0u);
}

TEST(ParseSize, RefusesWhatPerftestReadsSilently) {
  // perftest reads "64k" as 64, "1G" as 1 and "12abc" as 12 (perftest-lessons.md 2.3 item 10).
  for (const char* text : {"12abc", "", "-1", "1.5K", "K", "64KK", "64 K", " 64", "0x40", "18446744073709551616", "16777216T"})
    EXPECT_THROW(parse_size(text), Error) << text;
}

TEST(ParseSizeList, DoublesThroughASweep) {
  EXPECT_EQ(parse_size_list("2..16"), (std::vector<std::uint64_t>{2, 4, 8, 16}));
  EXPECT_EQ(parse_size_list("3..20"), (std::vector<std::uint64_t>{3, 6, 12}));
  EXPECT_EQ(parse_size_list("2..8M").size(), 23u);  // 2^1 … 2^23, perftest's -a
  EXPECT_EQ(parse_size_list("1K,3000,1M"), (std::vector<std::uint64_t>{1024, 3000, 1048576}));
  EXPECT_EQ(parse_size_list("64,1K..4K"), (std::vector<std::uint64_t>{64, 1024, 2048, 4096}));
  EXPECT_EQ(parse_size_list("9223372036854775808..18446744073709551615").size(), 1u);
}

TEST(ParseSizeList, RefusesEmptyAndFallingSweeps) {
  for (const char* text : {"8..2", "0..8", "..8", "8..", "1K,", ",", "1K;2K"}) EXPECT_THROW(parse_size_list(text), Error) << text;
}

TEST(ParseDuration, TakesUnits) {
  EXPECT_EQ(parse_duration("10"), nanoseconds(10'000'000'000));
  EXPECT_EQ(parse_duration("1.5s"), nanoseconds(1'500'000'000));
  EXPECT_EQ(parse_duration("250ms"), nanoseconds(250'000'000));
  EXPECT_EQ(parse_duration("5m"), nanoseconds(300'000'000'000));
  EXPECT_EQ(parse_duration("2h"), nanoseconds(7'200'000'000'000));
  for (const char* text : {"", "s", "-1s", "1sec", "1.2.3s", "9999999999h"}) EXPECT_THROW(parse_duration(text), Error) << text;
}

TEST(ParseRate, IsDecimal) {
  EXPECT_DOUBLE_EQ(parse_rate_gbit_per_s("25G"), 25.0);
  EXPECT_DOUBLE_EQ(parse_rate_gbit_per_s("2.5G"), 2.5);
  EXPECT_DOUBLE_EQ(parse_rate_gbit_per_s("400M"), 0.4);
  EXPECT_DOUBLE_EQ(parse_rate_gbit_per_s("1.6T"), 1600.0);
  for (const char* text : {"0", "", "G", "-3G", "25Gbps", "nan", "inf"}) EXPECT_THROW(parse_rate_gbit_per_s(text), Error) << text;
}

TEST(ParseCount, NamesOptionValueAndRange) {
  EXPECT_EQ(parse_count("17", "--qps", 1, 16384), 17u);
  try {
    parse_count("0", "--qps", 1, 16384);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_STREQ(error.what(), "--qps: \"0\" is not a whole number from 1 to 16384");
  }
}

TEST(Parsers, NameTheOptionWhereTheyKnowIt) {
  const auto refusal = [](auto parse) {
    try {
      parse();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal([] { parse_size("12abc", "--window"); }).rfind("--window: \"12abc\" is not a size", 0), 0u);
  EXPECT_EQ(refusal([] { parse_size_list("1K,8K..2K", "--size"); }).rfind("--size: \"8K..2K\" is not a sweep", 0), 0u);
  EXPECT_EQ(refusal([] { parse_duration("soon", "--warm-up"); }).rfind("--warm-up: \"soon\" is not a duration", 0), 0u);
  EXPECT_EQ(refusal([] { parse_rate_gbit_per_s("fast", "--pacing"); }).rfind("--pacing: \"fast\" is not a rate", 0), 0u);
  EXPECT_EQ(refusal([] { parse_size("12abc"); }).rfind("\"12abc\" is not", 0), 0u);
}

TEST(Format, ChoosesAReadableUnit) {
  EXPECT_EQ(format_size(65536), "64 KiB");
  EXPECT_EQ(format_size(3000), "3000 B");
  EXPECT_EQ(format_size(1572864), "1.5 MiB");
  EXPECT_EQ(format_gbit_per_s(392.137), "392 Gbit/s");
  EXPECT_EQ(format_gbit_per_s(9.2572), "9.26 Gbit/s");
  EXPECT_EQ(format_gbit_per_s(0.0457), "45.7 Mbit/s");
  EXPECT_EQ(format_duration(nanoseconds(1234)), "1.23 us");
  EXPECT_EQ(format_duration(nanoseconds(987)), "987 ns");
  EXPECT_EQ(format_duration(nanoseconds(45'600'000)), "45.6 ms");
}

TEST(GbitPerS, IsPayloadBitsOverNanoseconds) {
  // 1 GiB in 25 ms: 8589934592 bit / 25e6 ns = 343.597 Gbit/s.
  EXPECT_NEAR(gbit_per_s(1ULL << 30, nanoseconds(25'000'000)), 343.59738, 1e-5);
}

}  // namespace
}  // namespace railgauge
