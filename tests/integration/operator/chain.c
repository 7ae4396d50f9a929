/* What `why` answers, as text. */
#include "tests/integration/operator/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *it_chain_of(struct it_host *host, const char *what)
{
        struct pw_listing *listing = NULL;
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        struct pw_error err = { 0 };

        if (pw_list(host->session, "why", what, 0, &listing, &err) != PW_OK)
                fprintf(out, "%s", err.text);
        for (size_t i = 0; listing && i < it_rows(listing); i++)
                fprintf(out, "%lld %s: waits for %s; remedy: %s\n", (long long)it_number(listing, i, "depth"),
                        it_text(listing, i, "what"), it_text(listing, i, "waits_for"), it_text(listing, i, "remedy"));
        fclose(out);
        pw_listing_free(listing);
        return text;
}

bool it_chain_has(const char *chain, const char *texts)
{
        char *list = strdup(texts), *rest = list, *text;

        while (chain && (text = strsep(&rest, "|"))) {
                chain = strstr(chain, text);
                chain = chain ? chain + strlen(text) : NULL;
        }
        free(list);
        return chain;
}

void it_chain_expect(struct it_host *host, const char *what, const char *texts)
{
        int64_t end_us = it_now_us() + IT_LONG;
        char *chain = it_chain_of(host, what);

        while (!it_chain_has(chain, texts) && it_now_us() < end_us) {
                free(chain);
                chain = it_chain_of(host, what);
        }
        if (!it_chain_has(chain, texts))
                fail_msg("why %s: no \"%s\" in\n%s", what, texts, chain);
        free(chain);
}

char *it_id_of(struct pw_future *future, char text[PW_ID_TEXT_BYTES]) { return pw_id_format(pw_future_id(future), text); }

struct it_child it_start_child(void *context, int (*work)(void *, int))
{
        struct it_child child = it_fork(work, context);
        char byte;

        it_read(&child, &byte, 1);
        return child;
}
