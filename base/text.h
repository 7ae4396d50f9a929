/* Text that came from people or their programs, on its way to a terminal, a log or a list.
 *
 * Plain text is valid UTF-8 without what a terminal obeys or what turns a line about: control characters (C0, DEL, C1), separators
 * of lines and paragraphs, marks of writing direction.
 */
#ifndef PW_BASE_TEXT_H
#define PW_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* Where the first byte is that is not plain; the length of the text: nowhere. */
size_t pw_text_plain_length(const char *text);
/* Each such byte becomes '?'. Returns `text`. */
char *pw_text_make_plain(char *text);
/* A sentence as by snprintf(); what does not fit ends behind a whole word, and "..." says so. Returns how long it is. */
size_t pw_text_format(char *text, size_t text_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
size_t pw_text_formatv(char *text, size_t text_bytes, const char *format, va_list args) __attribute__((format(printf, 3, 0)));

#endif
