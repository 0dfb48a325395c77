#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace railgauge::control {

/// A fresh token of 140 random bits, readable and easy to type: seven groups of four of Crockford's base 32 in lower case
/// (no i, l, o, u), "k7qd-2m9x-…". Throws Error{system}.
std::string make_token();

/// The longest token, wherever it comes from.
inline constexpr std::size_t kMaxTokenBytes = 1024;

/// Throws Error{usage} for a token of more than kMaxTokenBytes; `source` is where it came from ("--token"). Never shows it.
void refuse_long_token(std::string_view token, const std::string& source);

/// The token in the first line of a file, without surrounding blanks. Warns on stderr when others than the owner can read
/// the file. Throws Error{usage} for a file that cannot be read or is empty, or as refuse_long_token does. Never logs what it
/// read.
std::string read_token_file(const std::string& path);

/// Why a token is weak ("shorter than 16 characters: …"), for a warning; nothing if it is not. An eavesdropper of one
/// handshake can test guesses of the token at leisure, so it has to be long.
std::optional<std::string> weakness_of(std::string_view token);

}  // namespace railgauge::control
