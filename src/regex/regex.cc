// regex.cc: RE2 behind include/muster/regex.h. Nothing of C++ leaves this file; if the machine has no memory the process ends, as pools do.
#define _Noreturn [[noreturn]] // C's word in base.h
extern "C" {
#include <muster/regex.h>
}

#include <cstdio>
#include <re2/re2.h>

namespace {

// A quarter of this is for the program, the rest for the states it has been in. A program may have as many instructions of 16 bytes as fit into its
// quarter: here eight times what is allowed, so that it is REGEX_MAX_PROGRAM that decides, in every release of RE2.
constexpr int64_t MOST_BYTES = 512 << 10;

RE2::Options options()
{
    RE2::Options o;
    o.set_log_errors(false);
    o.set_never_capture(true);
    o.set_encoding(
        RE2::Options::EncodingLatin1); // names of topics are ASCII; "." is one of 256 bytes then, and programs are a quarter as long
    o.set_max_mem(MOST_BYTES);
    return o;
}

re2::StringPiece view(struct str s)
{
    return re2::StringPiece(s.len > 0 ? s.ptr : "", s.len > 0 ? static_cast<size_t>(s.len) : 0);
}

int refuse(char *why, int error, const char *text)
{
    if (why != nullptr) {
        std::snprintf(why, REGEX_WHY_BYTES, "%s", text);
    }
    return error;
}

int too_long(struct str pattern, char *why)
{
    return pattern.len > REGEX_MAX_BYTES ? refuse(why, MUSTER_E_LIMIT, "pattern too long") : 0;
}

// In the words that Kafka's clients know.
const char *words(RE2::ErrorCode code)
{
    switch (code) {
    case RE2::ErrorBadEscape:
        return "invalid escape sequence";
    case RE2::ErrorBadCharClass:
        return "invalid character class";
    case RE2::ErrorBadCharRange:
        return "invalid character class range";
    case RE2::ErrorMissingBracket:
        return "missing closing ]";
    case RE2::ErrorMissingParen:
        return "missing closing )";
    case RE2::ErrorUnexpectedParen:
        return "unexpected )";
    case RE2::ErrorTrailingBackslash:
        return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument:
        return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize:
        return "invalid repeat count";
    case RE2::ErrorRepeatOp:
        return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp:
        return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8:
        return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture:
        return "invalid named capture";
    default:
        return "not a regular expression";
    }
}

int verdict(const RE2 &regex, char *why)
{
    if (regex.error_code() == RE2::ErrorPatternTooLarge || (regex.ok() && regex.ProgramSize() > REGEX_MAX_PROGRAM)) {
        return refuse(why, MUSTER_E_LIMIT, "pattern too large");
    }
    return regex.ok() ? regex.ProgramSize() : refuse(why, MUSTER_E_INVALID, words(regex.error_code()));
}

int check(struct str pattern, char *why) noexcept
{
    int rc = too_long(pattern, why);
    return rc < 0 ? rc : verdict(RE2(view(pattern), options()), why);
}

int match(struct str pattern, const struct str *names, size_t count, bool *matches) noexcept
{
    int rc = too_long(pattern, nullptr);
    for (size_t i = 0; i < count; i++) {
        matches[i] = false;
    }
    if (rc < 0) {
        return rc;
    }
    const RE2 regex(view(pattern), options());
    rc = verdict(regex, nullptr);
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        matches[i] = RE2::FullMatch(view(names[i]), regex);
    }
    return rc < 0 ? rc : 0;
}

} // namespace

int regex_check(struct str pattern, char ret_why[REGEX_WHY_BYTES])
{
    return check(pattern, ret_why);
}

int regex_match(struct str pattern, const struct str *names, size_t count, bool *ret_matches)
{
    return match(pattern, names, count, ret_matches);
}
