/* error.c: the text of the error table in base.h. */
#include <muster/base.h>

const char *muster_strerror(int code)
{
    switch (code) {
#define X(name, value, text)                                                                                                               \
    case value:                                                                                                                            \
        return text;
        MUSTER_ERRORS(X)
#undef X
    default:
        return "unknown error";
    }
}
