/* A trace, as `pathways trace` is told it and writes it: gangs of devices, nodes and programs that it never heard of. */
#include "cli/chrome.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        Pathways__Wire__Trace *trace = pathways__wire__trace__unpack(NULL, count, bytes);
        FILE *out = trace ? fopen("/dev/null", "w") : NULL;
        struct pw_chrome *chrome = out ? pw_chrome_new(out) : NULL;

        /* Twice: what the first part named, the second may name again. */
        for (int i = 0; chrome && i < 2; i++)
                if (pw_chrome_add(chrome, trace, NULL) != PW_OK)
                        break;
        if (chrome) {
                pw_chrome_end(chrome);
                pw_chrome_free(chrome);
        }
        if (out)
                fclose(out);
        if (trace)
                pathways__wire__trace__free_unpacked(trace, NULL);
        return 0;
}
