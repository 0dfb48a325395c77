#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace railgauge::control {

/// A fresh token of 140 random bits, readable and easy to type: seven groups of four of Crockford's base 32 in lower case
/// (no i, l, o, u), "k7qd-2m9x-…". Throws Error{system}.
std::string make_token();

/// The token in the first line of a file, without surrounding blanks. Warns on stderr when others than the owner can read
/// the file. Throws Error{usage} for a file that cannot be read or is empty or whose line is longer than 1 KiB. Never logs
/// what it read.
std::string read_token_file(const std::string& path);

/// Why a token is weak ("shorter than 16 characters: …"), for a warning; nothing if it is not. An eavesdropper of one
/// handshake can test guesses of the token at leisure, so it has to be long.
std::optional<std::string> weakness_of(std::string_view token);

}  // namespace railgauge::control
