#include <muster/roff.h>

int roff_put(struct buf *out, struct str text)
{
    bool begins = true;
    for (int32_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        bool escaped = c == '-' || c == '\\';
        const char last = c == '\\' ? 'e' : c;
        int rc = begins && (c == '.' || c == '\'') ? buf_put(out, "\\&", 2) : escaped ? buf_put(out, "\\", 1) : 0;
        rc = rc == 0 ? buf_put(out, &last, 1) : rc;
        if (rc < 0) {
            return rc;
        }
        begins = c == '\n';
    }
    return 0;
}
