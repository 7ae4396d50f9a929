/* What --http may be given, and what is said to the rest. */
#include "daemon/settings/http_address.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void good(const char *text, const char *same)
{
        struct pw_http_address address;
        struct pw_error err = { 0 };
        char back[PW_HTTP_ADDRESS_TEXT];

        if (pw_http_address_parse(text, &address, &err) != PW_OK)
                fail_msg("%s: %s", text, err.text);
        assert_string_equal(pw_http_address_format(&address, back), same);
}

static void bad(const char *text, const char *says)
{
        struct pw_http_address address;
        struct pw_error err = { 0 };

        if (pw_http_address_parse(text, &address, &err) != PW_INVALID)
                fail_msg("%s is taken", text);
        if (!strstr(err.text, says) || !strstr(err.text, "--http"))
                fail_msg("%s: \"%s\" does not say \"%s\"", text, err.text, says);
}

static void test_good(void **state)
{
        (void)state;
        good("127.0.0.1:9464", "127.0.0.1:9464");
        good("127.8.9.10:0", "127.8.9.10:0");
        good("localhost:65535", "127.0.0.1:65535");
        good("[::1]:80", "[::1]:80");
        good("[0:0:0:0:0:0:0:1]:80", "[::1]:80");
        good("unix:/run/pathways/http.sock", "unix:/run/pathways/http.sock");
}

static void test_bad(void **state)
{
        char long_path[200] = "unix:/", long_host[200];

        (void)state;
        memset(long_path + 6, 'x', 150);
        long_path[156] = 0;
        memset(long_host, '1', 150);
        strcpy(long_host + 150, ":80");
        bad("0.0.0.0:9464", "TLS");
        bad("192.168.1.7:9464", "TLS");
        bad("[::]:9464", "TLS");
        bad("[2001:db8::1]:9464", "TLS");
        bad("[::ffff:127.0.0.1]:9464", "TLS");
        bad("example.org:9464", "looked up");
        bad("127.0.0.1", "ADDR:PORT");
        bad("127.0.0.1:", "ADDR:PORT");
        bad("127.0.0.1:65536", "ADDR:PORT");
        bad("127.0.0.1:-1", "ADDR:PORT");
        bad("127.0.0.1:80x", "ADDR:PORT");
        bad(":9464", "ADDR:PORT");
        bad("::1:9464", "ADDR:PORT");
        bad("[::1:9464", "ADDR:PORT");
        bad("[]:9464", "ADDR:PORT");
        bad("", "ADDR:PORT");
        bad(long_host, "ADDR:PORT");
        bad("unix:relative", "slash");
        bad("unix:", "slash");
        bad(long_path, "too long");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_good),
                cmocka_unit_test(test_bad),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
