/* The models, each in a file of its own.
 */
#ifndef PW_MODEL_MODELS_H
#define PW_MODEL_MODELS_H

#include "tests/model/explore.h"

extern const struct model entry_take_model, entry_decide_model;
extern const struct model lane_work_model, lane_drop_model, lane_full_model, lane_bell_model;
extern const struct model reclaim_model, reuse_model, open_model;
extern const struct model wait_model, wait_two_model;
extern const struct model wide_model, wide_beside_model;
extern const struct model donate_model, donate_look_model, donate_shared_model, catch_up_model, catch_up_liar_model;
extern const struct model move_model, exchange_model, exchange_copy_model, move_shared_model;
extern const struct model letgo_model;
extern const struct model marked_model, marked_ahead_model;

#endif
