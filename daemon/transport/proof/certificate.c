/* Certificates out of files, and what is wrong with them. */
#include "daemon/transport/proof/certificate.h"

#include "daemon/transport/proof/secret.h"

#include <openssl/err.h>
#include <openssl/pem.h>

static const char *reason(void)
{
        const char *text = ERR_reason_error_string(ERR_peek_last_error());

        return text ? text : "unknown";
}

static enum pw_status bad(const char *option, const char *path, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_BAD_CONFIG, "%s %.200s: cannot be used (%s); it is to be a file in PEM form", option, path,
                            reason());
}

/* A key with a password is refused: nobody is there to be asked. */
static int no_password(char *buffer, int bytes, int writing, void *context)
{
        (void)buffer, (void)bytes, (void)writing, (void)context;
        return -1;
}

static enum pw_status use_key(SSL_CTX *context, const struct pw_transport_params *params, struct pw_error *ret_err)
{
        const char *path = params->tls_key;
        struct pw_secret secret;
        enum pw_status status = pw_secret_read("--tls-key", path, &secret, ret_err);
        BIO *memory = NULL;
        EVP_PKEY *key = NULL;

        if (status != PW_OK)
                return status;
        memory = BIO_new_mem_buf(secret.bytes, (int)secret.count);
        if (memory)
                key = PEM_read_bio_PrivateKey(memory, NULL, no_password, NULL);
        if (!key)
                status = bad("--tls-key", path, ret_err);
        else if (SSL_CTX_use_PrivateKey(context, key) != 1)
                status = pw_error_set(ret_err, PW_BAD_CONFIG, "--tls-key %.200s: is not the key of --tls-cert %.200s", path,
                                      params->tls_cert);
        EVP_PKEY_free(key);
        BIO_free(memory);
        pw_secret_done(&secret);
        return status;
}

static enum pw_status use_files(SSL_CTX *context, const struct pw_transport_params *params, struct pw_error *ret_err)
{
        enum pw_status status;

        if (SSL_CTX_load_verify_locations(context, params->tls_ca, NULL) != 1)
                return bad("--tls-ca", params->tls_ca, ret_err);
        if (SSL_CTX_use_certificate_chain_file(context, params->tls_cert) != 1)
                return bad("--tls-cert", params->tls_cert, ret_err);
        status = use_key(context, params, ret_err);
        if (status != PW_OK)
                return status;
        if (X509_check_host(SSL_CTX_get0_certificate(context), params->host_name, 0, PW_CERTIFICATE_CHECK, NULL) != 1)
                return pw_error_set(ret_err, PW_BAD_CONFIG, "--tls-cert %.200s: does not name host %s (as DNS name under "
                                    "subjectAltName), so others would refuse it; make another, or set --host-name",
                                    params->tls_cert, params->host_name);
        return PW_OK;
}

/* Both sides: 1.3, a certificate each, no sessions that are taken up again. */
static bool set_rules(SSL_CTX *context)
{
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 && SSL_CTX_set_num_tickets(context, 0) == 1 &&
               SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256") == 1;
}

enum pw_status pw_certificate_context(const struct pw_transport_params *params, SSL_CTX **ret_context, struct pw_error *ret_err)
{
        const char *const given[] = { params->tls_cert, params->tls_key, params->tls_ca };
        static const char *const options[] = { "--tls-cert", "--tls-key", "--tls-ca" };
        SSL_CTX *context;
        enum pw_status status;

        for (uint32_t i = 0; i < pw_array_count(given); i++)
                if (!given[i] || !*given[i])
                        return pw_error_set(ret_err, PW_BAD_CONFIG, "hosts that meet by TLS want --tls-cert, --tls-key and "
                                            "--tls-ca; %s is not given", options[i]);
        ERR_clear_error();
        context = SSL_CTX_new(TLS_method());
        if (!context || !set_rules(context)) {
                SSL_CTX_free(context);
                return pw_error_set(ret_err, PW_SYSTEM, "TLS 1.3 cannot be had of OpenSSL: %s", reason());
        }
        status = use_files(context, params, ret_err);
        ERR_clear_error();
        if (status == PW_OK)
                *ret_context = context;
        else
                SSL_CTX_free(context);
        return status;
}

/* An alert of the other side that is about this side's certificate. */
static bool is_refusal(int why)
{
        switch (why) {
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return true;
        default: return false;
        }
}

enum pw_status pw_certificate_error(SSL *ssl, const char *expected, struct pw_error *ret_err)
{
        int why = ERR_GET_REASON(ERR_peek_error());
        long verdict = SSL_get_verify_result(ssl);
        const char *text = ERR_reason_error_string(ERR_peek_error());

        if (why == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict == X509_V_ERR_HOSTNAME_MISMATCH)
                return pw_error_set(ret_err, PW_DENIED, "host %s was called, and the certificate that is shown there does not "
                                    "name it", expected);
        if (why == SSL_R_CERTIFICATE_VERIFY_FAILED)
                return pw_error_set(ret_err, PW_DENIED, "its certificate is not believed: %s; it has to be in force, and of the "
                                    "authority of --tls-ca", X509_verify_cert_error_string(verdict));
        if (why == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
                return pw_error_set(ret_err, PW_DENIED, "it shows no certificate");
        if (is_refusal(why))
                return pw_error_set(ret_err, PW_DENIED, "it does not believe this host's certificate: %s", text);
        return pw_error_set(ret_err, PW_PROTOCOL, "TLS ended: %s", text ? text : "for no reason that is known");
}
