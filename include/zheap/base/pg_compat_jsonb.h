/*
 * pg_compat_jsonb.h
 *		Differences between the supported servers in making values of jsonb.
 */
#ifndef ZHEAP_PG_COMPAT_JSONB_H
#define ZHEAP_PG_COMPAT_JSONB_H

#include "utils/jsonb.h"

/* 19: the state has the result */
#if PG_VERSION_NUM < 190000
typedef struct JsonbInState
{
	JsonbValue *result;			/* after the token that ends the value */
	JsonbParseState *parseState;
} JsonbInState;

static inline void
zcompat_push_jsonb(JsonbInState *state, JsonbIteratorToken token, JsonbValue *value)
{
	state->result = pushJsonbValue(&state->parseState, token, value);
}
#undef pushJsonbValue
#define pushJsonbValue zcompat_push_jsonb
#endif

#endif							/* ZHEAP_PG_COMPAT_JSONB_H */
