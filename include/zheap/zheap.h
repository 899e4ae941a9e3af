/*
 * zheap.h
 *		Names, numbers and settings of the library as a whole.
 */
#ifndef ZHEAP_H
#define ZHEAP_H

#define ZHEAP_RMGR_NAME		"zheap"
#define ZHEAP_RMGR_ID		128 /* RM_EXPERIMENTAL_ID until one is reserved */

#endif							/* ZHEAP_H */
