/* What proves the hosts of a cluster to each other. */
#include "tests/bench/cluster/hosts.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <unistd.h>

#define SECRET_BYTES 32
#define VALID_S (24 * 3600)

static FILE *create(const char *folder, const char *name)
{
        char path[96];
        int fd;

        snprintf(path, sizeof path, "%s/%s", folder, name);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        return fd < 0 ? NULL : fdopen(fd, "w");
}

static bool write_secret(const char *folder)
{
        uint8_t secret[SECRET_BYTES];
        FILE *file = create(folder, "secret");
        bool ok = file && RAND_bytes(secret, sizeof secret) == 1 && fwrite(secret, sizeof secret, 1, file) == 1;

        return (!file || !fclose(file)) && ok;
}

static bool write_pem(const char *folder, X509 *cert, EVP_PKEY *key)
{
        FILE *certs = create(folder, "cert.pem"), *keys = create(folder, "key.pem");
        bool ok = certs && keys && PEM_write_X509(certs, cert) == 1 &&
                PEM_write_PrivateKey(keys, key, NULL, NULL, 0, NULL, NULL) == 1;

        ok = (!certs || !fclose(certs)) && ok;
        return (!keys || !fclose(keys)) && ok;
}

/* It is its own authority, and has the names of all hosts. */
static bool sign(X509 *cert, EVP_PKEY *key)
{
        char names[] = "DNS:host0,DNS:host1,DNS:host2,DNS:host3,DNS:host4";
        X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
        X509_NAME *name = X509_get_subject_name(cert);
        bool ok = extension && X509_set_version(cert, X509_VERSION_3) == 1 &&
                ASN1_INTEGER_set(X509_get_serialNumber(cert), 1) == 1 && X509_gmtime_adj(X509_getm_notBefore(cert), -VALID_S) &&
                X509_gmtime_adj(X509_getm_notAfter(cert), VALID_S) && X509_set_pubkey(cert, key) == 1 &&
                X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const uint8_t *)"pathways bench", -1, -1, 0) == 1 &&
                X509_set_issuer_name(cert, name) == 1 && X509_add_ext(cert, extension, -1) == 1 &&
                X509_sign(cert, key, EVP_sha256()) > 0;

        X509_EXTENSION_free(extension);
        return ok;
}

enum pw_status pw_bench_proof_make(const char *folder, struct pw_error *ret_err)
{
        EVP_PKEY *key = EVP_EC_gen("P-256");
        X509 *cert = X509_new();
        bool ok = key && cert && sign(cert, key) && write_pem(folder, cert, key) && write_secret(folder);

        X509_free(cert);
        EVP_PKEY_free(key);
        return ok ? PW_OK : pw_error_set(ret_err, PW_FAILED, "a secret and a certificate were not written to %s", folder);
}
