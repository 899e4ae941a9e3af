/*
 * unit_model.h
 *		A table page and what it should be: rows with all their versions, row
 *		locks, slots, transactions, undo, as plain C data.
 */
#ifndef ZHEAP_UNIT_MODEL_H
#define ZHEAP_UNIT_MODEL_H

#include "nodes/lockoptions.h"

#include "zheap/page/page.h"
#include "zheap/record/record.h"
#include "zheap/undo/undo_write.h"

#include "unit.h"

#define MODEL_MAX_TXNS	2000
#define MODEL_MAX_UNDO	8000
#define MODEL_NOBODY	(-1)	/* modifier: visible to all */
#define MODEL_MAX_SLOTNO (ZPAGE_MAX_SLOTNO + ZPAGE_OVERFLOW_SLOTS)

typedef enum ModelStatus
{
	MODEL_IN_PROGRESS,
	MODEL_COMMITTED,			/* somebody may not see it yet */
	MODEL_ALL_VISIBLE,			/* visible to all */
	MODEL_ABORTED				/* and rolled back */
} ModelStatus;

/*
 * bytes: the row with its header as it is on the page, but for ZROW_PADDED and
 * ZROW2_LOCK_MASK, which no version has; undo: the record of the making
 */
typedef struct ModelVersion
{
	struct ModelVersion *prev;	/* the version before, unless inserted */
	int			txn;			/* the transaction that made it */
	ZUndoPtr	undo;
	uint32		len;
	char	   *bytes;
} ModelVersion;

typedef enum ModelState
{
	ROW_UNUSED,
	ROW_DEAD,
	ROW_NORMAL
} ModelState;

typedef struct ModelRow
{
	ModelState	state;
	ModelVersion *top;			/* the version on the page */
	uint8		lock_bits;		/* ZROW2_LOCK_MASK of the row on the page */
} ModelRow;

/* A row lock: its holder's until that one ends, whatever becomes of the row. */
typedef struct ModelLock
{
	struct ModelLock *prev;		/* the holder's lock before */
	OffsetNumber offnum;
	LockTupleMode mode;
	CommandId	cid;
} ModelLock;

typedef struct ModelSlot
{
	ZOwner		owner;			/* invalid fxid: free */
	int			count;			/* records above the chain's newest directory */
} ModelSlot;

/* An undo record's bytes, and what the model knows of it without them. */
typedef struct ModelUndo
{
	ZUndoPtr	ptr;
	Size		len;
	char	   *bytes;
	int			txn;
	ZOwner		next;			/* the record below in the chain; invalid fxid: none */
	ZOwner		before;			/* the slot's owner before txn, likewise */
	int			count;			/* as the slot's, while the record is the newest */
	OffsetNumber first;			/* it made versions of these rows; none if last is less */
	OffsetNumber last;
	FullTransactionId horizon;	/* DIRECTORY: what is older may be missing */
} ModelUndo;

typedef struct Model
{
	Unit	   *unit;
	PGAlignedBlock page;
	PGAlignedBlock overflow[2]; /* the overflow page and a lock page */
	bool		initialised;
	int			noverflow;		/* so many of them are there */

	/* what they should hold */
	ModelRow	rows[ZPAGE_MAX_OFFSET + 2];
	ModelSlot	slots[MODEL_MAX_SLOTNO + 1];
	int			nslots;
	FullTransactionId reused_fxid;

	ModelStatus	statuses[MODEL_MAX_TXNS];
	ModelLock  *locks[MODEL_MAX_TXNS];	/* of each transaction, newest first */
	int			ntxns;
	int			window;			/* about so many run at a time */
	bool		long_chains;	/* slots change hands rather than become free */
	int			committed[MODEL_MAX_TXNS];	/* in the order of their commits */
	int			ncommitted;
	int			nfrozen;		/* so many of them are visible to all */
	FullTransactionId horizon;	/* all below are, or were rolled back */

	ModelUndo	undo[MODEL_MAX_UNDO];
	int			nundo;
} Model;

/* ---- unit_model.c ---- */

extern FullTransactionId model_fxid(int txn);
extern int	model_txn(FullTransactionId fxid);

static inline ModelStatus
model_status(const Model *model, int txn)
{
	return txn == MODEL_NOBODY ? MODEL_ALL_VISIBLE : model->statuses[txn];
}

static inline Page
model_page(Model *model)
{
	return (Page) model->page.data;
}

/* The page that has the slot, if the table page has not. */
static inline Page
model_overflow(Model *model, int slotno)
{
	return (Page) model->overflow[zpage_slot_page(slotno)].data;
}

static inline bool
owners_equal(const ZOwner *a, const ZOwner *b)
{
	return FullTransactionIdEquals(a->fxid, b->fxid) && a->undo == b->undo;
}

/*
 * Slot of a running transaction, or 0.  One that has a slot on the lock page does nothing
 * but lock.
 */
extern int	model_own_slot(const Model *model, int txn);

/*
 * Strongest lock on the row that a running transaction holds, other than "except"
 * (MODEL_NOBODY: any); -1: none.
 */
extern int	model_strongest_lock(const Model *model, OffsetNumber offnum, int except);

/* Fail unless the pages are what the model says, and keep their invariants. */
extern void model_check(Model *model);

/* What a change does to the model; "txn" is MODEL_NOBODY for frozen rows. */
extern void model_change(Model *model, const ZChange *change, int txn);

extern ZUndoPtr model_undo_next(const Model *model);

/* Before model_change. */
extern void model_undo_append(Model *model, const ZChange *change, int txn,
							  const char *bytes, Size len);
extern const ModelUndo *model_undo_find(const Model *model, ZUndoPtr ptr);

/* Of each row the newest record of the chain from "from" on. */
extern void model_directory(const Model *model, const ZOwner *from, ZDirectory *dir);

/* ---- unit_undo.c: the codecs of undo records, with whatever can be checked ---- */

/* The record's bytes in the log. */
extern Size undo_encode(Unit *unit, const ZUndoRecord *record, ZUndoPtr self, char *bytes,
						Size *wal_len);

extern Size undo_directory_encode(Unit *unit, const ZDirectory *dir,
								  FullTransactionId horizon, ZUndoPtr base, char *bytes);

/* ---- unit_replay.c: the same through encoders, decoders, WAL and redo ---- */

/* What only the place of the undo record decides, of the change and its undo record. */
extern void unit_complete_undo(Model *model, ZChange *change, int txn, ZUndoWrite *write);

extern void replay_change(Model *model, ZChange *change, int txn);
extern bool replay_move(Model *model, ZMove *move, int txn, PGAlignedBlock *other);
extern void replay_rollback(Model *model, const ZRollbackPlan *plan);
extern void replay_prune(Model *model, const ZPrunePlan *plan);
extern void replay_overflow(Model *model);
extern void replay_overflow_init(Model *model);
extern void replay_confirm(Model *model, OffsetNumber offnum);

#endif							/* ZHEAP_UNIT_MODEL_H */
