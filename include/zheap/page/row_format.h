/*
 * row_format.h
 *		The bytes of a row.
 *
 *   0  flags      ZROW_*: what this version is
 *   1  flags2     ZROW2_*
 *   2  slotno     transaction slot of the last modifier, lower 8 bits; 0 = frozen
 *   3  natts      attributes stored, lower 8 bits
 *   4  bits 0-2: natts, upper 3 bits; bit 3: slotno, bit 8; bits 4-7: turn, upper 4 bits
 *   5  null bitmap, (natts + 7) / 8 bytes, only with ZROW_HASNULL; a set bit
 *      means "not null", as in heap
 *   .. attribute values, without any alignment padding:
 *        by value         attlen bytes
 *        fixed, by ref    attlen bytes
 *        varlena          its own header, short (1 byte) wherever the type
 *                         allows it; external pointers as they are
 *        cstring          the bytes and a NUL
 *   .. with ZROW_ORIGIN: TIDs where the row was, 6 bytes each; one byte: their number
 *   .. with ZROW_PADDED: padding whose last bytes contain its length (the space
 *      remains the row's until the transaction that shrank it has committed)
 *
 * A line pointer's lp_len is the space that the row owns: row and padding.
 */
#ifndef ZHEAP_ROW_FORMAT_H
#define ZHEAP_ROW_FORMAT_H

#define ZROW_HDR_SIZE		5

/* flags */
#define ZROW_HASNULL		0x01
#define ZROW_HASEXTERNAL	0x02	/* some value lies in the toast table */
#define ZROW_INSERTED		0x04	/* the row's first version, not older than the
									 * slot's owner: nothing precedes it */
#define ZROW_DELETED		0x08	/* gone for all snapshots that see the slot's owner */
#define ZROW_MOVED			0x10	/* with DELETED: by an update, to another TID */
#define ZROW_REUSED			0x20	/* the slot has been reused since; the
									 * modifier is found through the slot's chain */
#define ZROW_PADDED			0x40
#define ZROW_ORIGIN			0x80	/* an update moved the row while others held KEY
									 * SHARE locks on it: the TIDs that it had
									 * follow the values (row_origin.c) */

/* flags2 */
#define ZROW2_SPECULATIVE	0x01	/* ON CONFLICT insertion in doubt */
#define ZROW2_TOMBSTONE		0x01	/* with DELETED: the body lies in undo, only an
									 * undo pointer (8 bytes) is left here */
#define ZROW2_SEVERAL_KEYS	0x02	/* an index may have more than one entry of the row,
									 * each with another key (src/index/README.md) */
#define ZROW2_MOVED_PART	0x04	/* with DELETED: to another partition */
#define ZROW2_KEYS_UPDATED	0x08	/* made by (with MOVED: moved away by) an update that
									 * KEY SHARE locks conflict with: it changed the key, or
									 * its transaction held the row FOR UPDATE */
#define ZROW2_LOCK_SHIFT	4		/* 3 bits: strongest row lock that may be held,
									 * LockTupleMode + 1; 0: none.  A hint: the holders
									 * are found in the undo of transactions in
									 * progress (lock_holders.c) */
#define ZROW2_LOCK_MASK		0x70
#define ZROW2_PARITY		0x80	/* lowest bit of the row's turn: each update in
									 * place adds 1 to the turn, modulo ZROW_TURNS.
									 * The turn distinguishes a version from its
									 * neighbours, and tells where its waypoints are
									 * (record.h).  Plans and undo do not contain it,
									 * as it follows from the row on the page */

/*
 * Bits that belong to the line pointer, not to a version: changes of the row keep them, old
 * versions do not have them.  A plan can only set SEVERAL_KEYS.
 */
#define ZROW2_PLACE_FLAGS	(ZROW2_LOCK_MASK | ZROW2_PARITY | ZROW2_SEVERAL_KEYS)

/* Flags that describe the bytes of a version, kept until they change. */
#define ZROW_VALUE_FLAGS	(ZROW_HASNULL | ZROW_HASEXTERNAL | ZROW_ORIGIN)

/* Flags that describe a version's modifier, not the value bytes. */
#define ZROW_MODIFIER_FLAGS	(ZROW_INSERTED | ZROW_DELETED | ZROW_MOVED | ZROW_REUSED)

#define ZROW_TOMBSTONE_SIZE	(ZROW_HDR_SIZE + sizeof(uint64))

#define ZROW_TURNS			32

#define ZROW_MAX_NATTS		1600
#define ZROW_MAX_ORIGINS	8

/*
 * The longest row that may be stored, without its former TIDs: heap stores no longer one ("How
 * long a row may be" in src/page/README.md).
 */
#define ZROW_MAX_FORMED		(MaxHeapTupleSize - SizeofHeapTupleHeader + ZROW_HDR_SIZE)

/* in plans: the number of attributes does not change */
#define ZROW_NATTS_KEEP		UINT16_MAX

/* The unpacked header. */
typedef struct ZRowHeader		/* tidy: in memory only */
{
	uint8		flags;
	uint8		flags2;
	uint8		turn4;			/* upper bits of the turn; see zrow_turn */
	uint16		slotno;
	uint16		natts;
} ZRowHeader;

/* Decode the header that the row's bytes begin with. */
static inline void
zrow_header_get(const char *row, ZRowHeader *hdr)
{
	hdr->flags = (uint8) row[0];
	hdr->flags2 = (uint8) row[1];
	hdr->turn4 = (uint8) row[4] >> 4;
	hdr->slotno = (uint8) row[2] | ((uint8) row[4] & 0x08) << 5;
	hdr->natts = (uint8) row[3] | ((uint8) row[4] & 0x07) << 8;
}

/*
 * Return where the values begin.  The row has at least a header; a damaged one may end before
 * that.
 */
static inline uint32
zrow_values_offset(const char *row)
{
	ZRowHeader	hdr;

	zrow_header_get(row, &hdr);
	return ZROW_HDR_SIZE + ((hdr.flags & ZROW_HASNULL) ? (hdr.natts + 7) / 8 : 0);
}

/* Encode the header at the begin of the row's bytes. */
static inline void
zrow_header_put(char *row, const ZRowHeader *hdr)
{
	Assert(hdr->slotno >> 9 == 0);	/* P2: never a slot on a lock page */
	row[0] = (char) hdr->flags;
	row[1] = (char) hdr->flags2;
	row[2] = (char) (uint8) hdr->slotno;
	row[3] = (char) (uint8) hdr->natts;
	row[4] = (char) (hdr->natts >> 8 | (hdr->slotno >> 8) << 3 | hdr->turn4 << 4);
}

/* Return how often the row has been updated in place, modulo ZROW_TURNS. */
static inline int
zrow_turn(const ZRowHeader *hdr)
{
	return hdr->turn4 << 1 | ((hdr->flags2 & ZROW2_PARITY) ? 1 : 0);
}

/* Set the turn; it may be out of range by one in either direction. */
static inline void
zrow_set_turn(ZRowHeader *hdr, int turn)
{
	hdr->turn4 = (turn & (ZROW_TURNS - 1)) >> 1;
	hdr->flags2 = (hdr->flags2 & ~ZROW2_PARITY) | ((turn & 1) ? ZROW2_PARITY : 0);
}

/* The row's ZROW_* flags, without decoding the header. */
static inline uint8
zrow_flags(const char *row)
{
	return (uint8) row[0];
}

/* The row's slot, without decoding the header. */
static inline int
zrow_slotno(const char *row)
{
	return (uint8) row[2] | ((uint8) row[4] & 0x08) << 5;
}

/* Return whether the row names this slot, which is one of the first 255. */
static inline bool
zrow_names_slot(const char *row, int slotno)
{
	return (uint8) row[2] == slotno && ((uint8) row[4] & 0x08) == 0;
}

/* The number of the row's attributes, without decoding the header. */
static inline uint16
zrow_natts(const char *row)
{
	return (uint8) row[3] | ((uint8) row[4] & 0x07) << 8;
}

/*
 * Return whether two rows, of these lengths without padding, are equal except for the hint of
 * their locks and SEVERAL_KEYS.
 */
static inline bool
zrow_equals(const char *a, uint32 a_len, const char *b, uint32 b_len)
{
	return a_len == b_len && a[0] == b[0] &&
		((a[1] ^ b[1]) & ~(ZROW2_LOCK_MASK | ZROW2_SEVERAL_KEYS)) == 0 &&
		memcmp(a + 2, b + 2, a_len - 2) == 0;
}

/*
 * Return whether an index may have entries of the row with other keys than its newest version's.
 */
static inline bool
zrow_has_several_keys(const char *row)
{
	return ((uint8) row[1] & ZROW2_SEVERAL_KEYS) != 0;
}

/* Return the strongest row lock that may be held, as LockTupleMode; -1: none. */
static inline int
zrow_lock_hint(uint8 flags2)
{
	return ((flags2 & ZROW2_LOCK_MASK) >> ZROW2_LOCK_SHIFT) - 1;
}

/* Return the bits of flags2 for a LockTupleMode; -1: none. */
static inline uint8
zrow_lock_bits(int mode)
{
	return (uint8) ((mode + 1) << ZROW2_LOCK_SHIFT);
}

/*
 * Freeze a header: its modifier is all-visible and need not be named.  (In a deleted row
 * SPECULATIVE's bit is TOMBSTONE, which stays.)
 */
static inline void
zrow_header_freeze(ZRowHeader *hdr)
{
	hdr->slotno = 0;
	hdr->flags &= ~(ZROW_INSERTED | ZROW_REUSED);
	if (!(hdr->flags & ZROW_DELETED))
		hdr->flags2 &= ~ZROW2_SPECULATIVE;
}

/* Return whether only the header is left of a deleted row: its body has been moved to undo. */
static inline bool
zrow_is_tombstone(const ZRowHeader *hdr)
{
	return (hdr->flags & ZROW_DELETED) && (hdr->flags2 & ZROW2_TOMBSTONE);
}

/*
 * Return the length of the padding, in bytes.  The last byte contains it if it is 1..254;
 * otherwise the last byte is 255 and the two bytes before it contain the length.
 */
static inline uint32
zrow_pad_length(const char *row, uint32 alloc)
{
	uint16		pad;

	if (!(zrow_flags(row) & ZROW_PADDED))
		return 0;
	if ((uint8) row[alloc - 1] < 255)
		return (uint8) row[alloc - 1];
	memcpy(&pad, row + alloc - 3, sizeof(pad));
	return pad;
}

/* Write "pad" bytes of padding at the end of "alloc" bytes.  The caller sets ZROW_PADDED. */
static inline void
zrow_pad_put(char *row, uint32 alloc, uint32 pad)
{
	uint16		pad16 = (uint16) pad;

	if (pad == 0)
		return;
	Assert(pad <= alloc - ZROW_HDR_SIZE);	/* P4 */
	memset(row + alloc - pad, 0, pad);
	if (pad < 255)
		row[alloc - 1] = (char) (uint8) pad;
	else
	{
		row[alloc - 1] = (char) 255;
		memcpy(row + alloc - 3, &pad16, sizeof(pad16));
	}
}

#endif							/* ZHEAP_ROW_FORMAT_H */
