/*
 * token.h
 *		The number of a version that was just written: what RETURNING shows as xmin.
 */
#ifndef ZHEAP_TOKEN_H
#define ZHEAP_TOKEN_H

#include "storage/itemptr.h"

/*
 * The number (zrow_token) of the row's newest version; the table is open and locked.  Locks its
 * page in share mode.  False: there is no such row.
 */
extern PGDLLEXPORT bool zscan_token_on_page(Oid table, const ItemPointerData *tid, uint32 *token);

#endif							/* ZHEAP_TOKEN_H */
