/* What executor/collective/nccl_library.h declares is what a nccl.h has: functions, structs and numbers. It is the compiler that
 * compares. Where configure found none, this is skipped.
 */
#include "executor/collective/nccl_library.h"

#include <stdio.h>

#ifdef PW_HAVE_NCCL_H
#include <nccl.h>
#endif

/* The release whose ncclConfig_t is declared there. */
#if defined(PW_HAVE_NCCL_H) && NCCL_VERSION_CODE >= 22800

#define NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
#define RESULT(name, number, theirs, status, text) NUMBER(PW_NCCL_##name, theirs);
PW_NCCL_RESULT_MAP(RESULT)
#define DTYPE(name, number, theirs, bytes) NUMBER(PW_NCCL_##name, theirs);
PW_NCCL_DTYPE_MAP(DTYPE)
NUMBER(PW_NCCL_SUCCESS, ncclSuccess);
NUMBER(PW_NCCL_SUM, ncclSum);
NUMBER(PW_NCCL_PROD, ncclProd);
NUMBER(PW_NCCL_MAX, ncclMax);
NUMBER(PW_NCCL_MIN, ncclMin);
NUMBER(PW_NCCL_ID_BYTES, NCCL_UNIQUE_ID_BYTES);
NUMBER(PW_NCCL_CONFIG_UNSET, NCCL_CONFIG_UNDEF_INT);
NUMBER(PW_NCCL_VERSION_MIN, NCCL_VERSION(2, 28, 0));

#define SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
SIZE(enum pw_nccl_result, ncclResult_t);
SIZE(enum pw_nccl_dtype, ncclDataType_t);
SIZE(enum pw_nccl_op, ncclRedOp_t);
SIZE(struct pw_nccl_id, ncclUniqueId);
SIZE(struct pw_nccl_config, ncclConfig_t);

/* X(ours, theirs) */
#define FIELD_MAP(X)                                                                                                   \
        X(size, size) X(magic, magic) X(version, version) X(blocking, blocking) X(cga_cluster_size, cgaClusterSize)      \
        X(min_ctas, minCTAs) X(max_ctas, maxCTAs) X(net_name, netName) X(split_share, splitShare)                       \
        X(traffic_class, trafficClass) X(comm_name, commName) X(collnet_enable, collnetEnable)                         \
        X(cta_policy, CTAPolicy) X(shrink_share, shrinkShare) X(nvls_ctas, nvlsCTAs)                                    \
        X(channels_per_net_peer, nChannelsPerNetPeer) X(nvlink_centric_sched, nvlinkCentricSched)
#define FIELD(ours, theirs)                                                                                            \
        _Static_assert(offsetof(struct pw_nccl_config, ours) == offsetof(ncclConfig_t, theirs), #theirs);              \
        SIZE(((struct pw_nccl_config *)0)->ours, ((ncclConfig_t *)0)->theirs);
FIELD_MAP(FIELD)

/* How one begins: all but the version, which is that of their header, and `blocking`. */
static const struct pw_nccl_config config = PW_NCCL_CONFIG_INIT;
static const ncclConfig_t config_of_theirs = NCCL_CONFIG_INITIALIZER;

static int config_differs(void)
{
#define DIFFERS(ours, theirs) +(config.ours != config_of_theirs.theirs)
        return (0 FIELD_MAP(DIFFERS)) - (config.version != config_of_theirs.version) - 1;
}

/* In the parameters their types stand for ours. Theirs have no tags, so it takes both words of ours; no header comes after this. */
typedef __typeof__(*(ncclComm_t)0) comm_of_theirs;
typedef __typeof__(*(cudaStream_t)0) stream_of_theirs;
#define enum
#define struct
#define pw_nccl_result ncclResult_t
#define pw_nccl_dtype ncclDataType_t
#define pw_nccl_op ncclRedOp_t
#define pw_nccl_id ncclUniqueId
#define pw_nccl_config ncclConfig_t
#define ncclComm comm_of_theirs
#define CUstream_st stream_of_theirs
#define FUNCTION(name, type, parameters) _Static_assert(__builtin_types_compatible_p(__typeof__(name), type parameters), #name);
PW_NCCL_FUNCTION_MAP(FUNCTION)

int main(void)
{
        printf("nccl.h of %d.%d\n", NCCL_MAJOR, NCCL_MINOR);
        return config_differs();
}

#else

int main(void)
{
        puts("SKIP: no nccl.h of 2.28 or newer (configure looks in CUDA_HOME)");
        return 77;
}

#endif
