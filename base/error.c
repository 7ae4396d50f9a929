/* Filling struct pw_error. */
#include "base/error.h"

#include "base/text.h"

#include <string.h>

enum pw_status (pw_error_setv)(struct pw_error *ret_err, enum pw_status status, const char *format, va_list args)
{
        char text[sizeof ret_err->text]; /* an argument may be the text that is replaced */

        if (!ret_err)
                return status;
        pw_text_formatv(text, sizeof text, format, args);
        ret_err->status = status;
        memcpy(ret_err->text, text, sizeof text);
        return status;
}

enum pw_status (pw_error_set)(struct pw_error *ret_err, enum pw_status status, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        pw_error_setv(ret_err, status, format, args);
        va_end(args);
        return status;
}

enum pw_status (pw_error_errno)(struct pw_error *ret_err, int number, const char *format, ...)
{
        char sentence[sizeof ret_err->text];
        char reason[128];
        va_list args;

        va_start(args, format);
        pw_text_formatv(sentence, sizeof sentence, format, args);
        va_end(args);
        return pw_error_set(ret_err, PW_SYSTEM, "%s: %s", sentence, strerror_r(number, reason, sizeof reason));
}

enum pw_status pw_error_prefix(struct pw_error *err, const char *format, ...)
{
        char prefix[sizeof err->text];
        va_list args;

        if (!err)
                return PW_SYSTEM;
        va_start(args, format);
        pw_text_formatv(prefix, sizeof prefix, format, args);
        va_end(args);
        return pw_error_set(err, err->status, "%s: %s", prefix, err->text);
}
