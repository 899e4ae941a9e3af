/*
 * zheap_varint.c
 *		Unsigned integers of variable length: seven bits a byte, lowest first; the high bit says
 *		that another byte follows.
 */
#include "postgres.h"

#include "zheap/base/base.h"

char *
zvarint_put(char *out, uint64 value)
{
	char	   *start PG_USED_FOR_ASSERTS_ONLY = out;

	while (value >= 0x80)
	{
		*out++ = (char) (value | 0x80);
		value >>= 7;
	}
	*out++ = (char) value;
	Assert(out - start <= ZVARINT_MAX); /* F2 */
	return out;
}

/* Return NULL also if the value has more than 64 bits (F2). */
const char *
zvarint_get_long(const char *in, const char *end, uint64 *value)
{
	uint64		result = 0;

	for (int shift = 0; shift < 64 && in < end; shift += 7)
	{
		uint64		byte = (uint8) *in++;

		/* the tenth byte has room for one bit */
		if (shift == 63 && byte > 1)
			return NULL;
		result |= (byte & 0x7F) << shift;
		if (byte < 0x80)
		{
			*value = result;
			return in;
		}
	}
	return NULL;
}
