/* Listings, as the command shows them: rows of any cells, in every form, as tables and as JSON. */
#include "cli/command.h"
#include "tests/fuzz/fuzz.h"

static void show(const struct pw_form *form, const Pathways__Wire__Listing *listing, uint32_t width, FILE *out)
{
        if (form->count)
                (void)!pw_form_print(form, listing, &(struct pw_paper){ width % 128, width > 127 }, out, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        static FILE *out;
        Pathways__Wire__Listing *listing = count > 1 ? pathways__wire__listing__unpack(NULL, count - 2, bytes + 2) : NULL;

        if (!listing)
                return 0;
        if (!out && !(out = fopen("/dev/null", "w")))
                return 0;
        const struct pw_command *command = &pw_commands[bytes[0] % pw_command_count];
        show(&command->form, listing, bytes[1], out);
        show(&command->detail, listing, bytes[1], out);
        (void)!pw_json_print(listing, out, NULL);
        pathways__wire__listing__free_unpacked(listing, NULL);
        return 0;
}
