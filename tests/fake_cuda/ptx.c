/* Reading PTX as far as a driver without hardware needs it: its version, its target, the names of its entries and the sizes of
 * their parameters. */
#include "tests/fake_cuda/fake.h"

#include <ctype.h>
#include <stdio.h>

#define ARCH_LAST 121u /* that the driver's compiler has heard of */

struct reader { const char *text, *at; char token[256]; };

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%'; }

/* Where `last` follows `mark` first, behind it; else the end. A sanitizer has string functions look at all of the text. */
static const char *behind(const char *at, char mark, char last)
{
        for (; *at; at++)
                if (*at == mark && (!last || at[1] == last))
                        return at + (last ? 2 : 1);
        return at;
}

/* White space and comments. */
static void blanks_skip(struct reader *reader)
{
        for (;;) {
                while (isspace((unsigned char)*reader->at))
                        reader->at++;
                if (reader->at[0] == '/' && reader->at[1] == '/')
                        reader->at = behind(reader->at, '\n', 0);
                else if (reader->at[0] == '/' && reader->at[1] == '*')
                        reader->at = behind(reader->at + 2, '*', '/');
                else
                        return;
        }
}

/* A word, a string's beginning or one sign; false at the end. */
static bool token_next(struct reader *reader)
{
        size_t bytes = 0, kept;

        blanks_skip(reader);
        if (!*reader->at)
                return false;
        while (is_word(reader->at[bytes]))
                bytes++;
        if (*reader->at == '"')
                bytes = (size_t)(behind(reader->at + 1, '"', 0) - reader->at);
        bytes = bytes ? bytes : 1;
        kept = bytes < sizeof reader->token - 1 ? bytes : sizeof reader->token - 1;
        memcpy(reader->token, reader->at, kept);
        reader->token[kept] = 0;
        reader->at += bytes;
        return true;
}

/* Bytes of ".u64"; 0: no type. */
static uint32_t type_bytes(const char *token)
{
        static const char letters[] = "busf";
        unsigned bits;

        if (token[0] != '.' || !token[1] || !strchr(letters, token[1]) || sscanf(token + 2, "%u", &bits) != 1)
                return 0;
        return bits / 8;
}

static bool number_next(struct reader *reader, uint32_t *ret_number)
{
        return token_next(reader) && sscanf(reader->token, "%u", ret_number) == 1;
}

/* Behind the parenthesis: ".param .u64 name", ".param .align 8 .b8 name[24]", until its end. */
static bool params_read(struct reader *reader, struct CUfunc_st *function)
{
        uint32_t bytes = 0, number;

        while (token_next(reader)) {
                bool is_end = !strcmp(reader->token, ")");

                if (is_end || !strcmp(reader->token, ",")) {
                        if (bytes && function->param_count == FAKE_PARAMS_MAX)
                                return false;
                        if (bytes)
                                function->param_bytes[function->param_count++] = bytes;
                        bytes = 0;
                        if (is_end)
                                return true;
                } else if (!strcmp(reader->token, ".align")) {
                        if (!number_next(reader, &number))
                                return false;
                } else if (!strcmp(reader->token, "[")) {
                        if (!number_next(reader, &number))
                                return false;
                        bytes *= number;
                } else if (!bytes) {
                        bytes = type_bytes(reader->token);
                }
        }
        return false;
}

/* Behind ".entry". */
static enum pw_cuda_result entry_read(struct reader *reader, struct pw_list *functions, char why[FAKE_TEXT_BYTES])
{
        struct CUfunc_st *function = calloc(1, sizeof *function);

        if (!function)
                return PW_CUDA_OUT_OF_MEMORY;
        pw_list_append(functions, &function->link);
        if (token_next(reader)) {
                snprintf(function->name, sizeof function->name, "%s", reader->token);
                if (token_next(reader) && !strcmp(reader->token, "{"))
                        return PW_CUDA_SUCCESS;
                if (!strcmp(reader->token, "(") && params_read(reader, function))
                        return PW_CUDA_SUCCESS;
        }
        snprintf(why, FAKE_TEXT_BYTES, "ptxas fatal: entry '%s' has no parameters or body", function->name);
        return PW_CUDA_INVALID_PTX;
}

static unsigned line_of(const struct reader *reader)
{
        unsigned line = 1;

        for (const char *at = reader->text; at < reader->at; at++)
                line += *at == '\n';
        return line;
}

/* As a driver's compiler, which has a second line for what follows from the first. */
#define SAYS(text) "ptxas application ptx input, line %u; fatal   : " text "\nptxas fatal   : Ptx assembly aborted due to errors\n"

/* ISA 8.0 came with CUDA 12.0, 9.0 with 13.0. */
static enum pw_cuda_result version_check(struct reader *reader, char why[FAKE_TEXT_BYTES])
{
        uint64_t driver = fake_conf()->driver;
        unsigned major, minor;

        if (!token_next(reader) || strcmp(reader->token, ".version") || !token_next(reader) ||
            sscanf(reader->token, "%u.%u", &major, &minor) != 2) {
                snprintf(why, FAKE_TEXT_BYTES, "ptxas fatal: missing .version directive at start of file");
                return PW_CUDA_INVALID_PTX;
        }
        if (major * 10 + minor <= (driver / 1000 - 4) * 10 + driver % 1000 / 10)
                return PW_CUDA_SUCCESS;
        snprintf(why, FAKE_TEXT_BYTES, SAYS("Unsupported .version %u.%u; current version is '%u.%u'"), line_of(reader), major,
                 minor, (unsigned)(driver / 1000 - 4), (unsigned)(driver % 1000 / 10));
        return PW_CUDA_UNSUPPORTED_PTX_VERSION;
}

/* "sm_90" runs on 90 and above, "sm_90a" on 90 only. What is beyond this GPU is wrong PTX to a driver. */
static enum pw_cuda_result target_check(struct reader *reader, char why[FAKE_TEXT_BYTES])
{
        uint64_t arch = fake_conf()->arch;
        unsigned target = 0;
        char suffix = 0;

        if (!token_next(reader) || sscanf(reader->token, "sm_%u%c", &target, &suffix) < 1) {
                snprintf(why, FAKE_TEXT_BYTES, "ptxas fatal: unknown target '%s'", reader->token);
                return PW_CUDA_INVALID_PTX;
        }
        if (target == arch || (target < arch && !suffix))
                return PW_CUDA_SUCCESS;
        if (target > ARCH_LAST)
                snprintf(why, FAKE_TEXT_BYTES, SAYS("Unsupported .target '%s'"), line_of(reader), reader->token);
        else if (target > arch)
                snprintf(why, FAKE_TEXT_BYTES, SAYS("SM version specified by .target is higher than default SM version assumed"),
                         line_of(reader));
        else
                snprintf(why, FAKE_TEXT_BYTES,
                         "ptxas fatal   : Program with .target '%s' cannot be compiled to architecture 'sm_%u'\n", reader->token,
                         (unsigned)arch);
        return PW_CUDA_INVALID_PTX;
}

enum pw_cuda_result fake_ptx_read(const char *text, struct pw_list *functions, char why[FAKE_TEXT_BYTES])
{
        struct reader reader = { .text = text, .at = text + strspn(text, " \t\r\n") };
        enum pw_cuda_result result;
        bool has_target = false;

        if (strncmp(reader.at, "//", 2) && strncmp(reader.at, ".version", strlen(".version")))
                return PW_CUDA_INVALID_IMAGE;
        result = version_check(&reader, why);
        while (!result && token_next(&reader)) {
                if (!strcmp(reader.token, ".target")) {
                        has_target = true;
                        result = target_check(&reader, why);
                } else if (!strcmp(reader.token, ".entry")) {
                        result = entry_read(&reader, functions, why);
                }
        }
        if (!result && !has_target) {
                snprintf(why, FAKE_TEXT_BYTES, "ptxas fatal: missing .target directive");
                result = PW_CUDA_INVALID_PTX;
        }
        return result;
}
