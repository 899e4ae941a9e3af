/*
 * token.h
 *		The number of a version that was just written: what RETURNING shows as xmin.
 */
#ifndef ZHEAP_TOKEN_H
#define ZHEAP_TOKEN_H

#include "storage/itemptr.h"

/*
 * Set *token to the number (zrow_token) of the row's newest version; return false if there is no
 * such row.  The caller has the table open and locked, and no buffer locked (L1).  Locks the row's
 * page in share mode, and keeps AccessShareLock on the table.  Errors are those of opening the
 * table and reading a page.
 */
extern PGDLLEXPORT bool zscan_token_on_page(Oid table, const ItemPointerData *tid, uint32 *token);

#endif							/* ZHEAP_TOKEN_H */
