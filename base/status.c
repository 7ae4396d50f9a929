/* The tables of statuses and dtypes, as text. */
#include "base/error.h"

const char *pw_status_text(enum pw_status status)
{
        switch (status) {
#define CASE(name, number, text, remedy) case name: return text;
                PW_STATUS_MAP(CASE)
#undef CASE
        }
        return "unknown status";
}

const char *pw_status_name(enum pw_status status)
{
        switch (status) {
#define CASE(name, number, text, remedy) case name: return #name;
                PW_STATUS_MAP(CASE)
#undef CASE
        }
        return "PW_UNKNOWN";
}

bool pw_status_known(uint32_t number)
{
        switch (number) {
#define CASE(name, number, text, remedy) case number: return true;
                PW_STATUS_MAP(CASE)
#undef CASE
        default: return false;
        }
}

size_t pw_dtype_bytes(enum pw_dtype dtype)
{
        switch (dtype) {
#define CASE(name, number, bytes, text) case name: return bytes;
                PW_DTYPE_MAP(CASE)
#undef CASE
        }
        return 0;
}

const char *pw_dtype_text(enum pw_dtype dtype)
{
        switch (dtype) {
#define CASE(name, number, bytes, text) case name: return text;
                PW_DTYPE_MAP(CASE)
#undef CASE
        }
        return "unknown";
}
