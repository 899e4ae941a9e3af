/*
 * query.h
 *		Is a query being executed, or is it events that outlived theirs?
 */
#ifndef ZHEAP_QUERY_H
#define ZHEAP_QUERY_H

/*
 * True within ExecutorRun and ExecutorFinish (which runs CTEs to their end and
 * then fires the query's own events).  False where deferred events fire, at
 * commit or by SET CONSTRAINTS, and where rows are written without a plan: COPY,
 * logical replication.
 */
extern bool zscan_query_runs(void);

/*
 * False within ExecutorRun.  Otherwise AFTER ROW events may fire: in ExecutorFinish,
 * or outside of any query.
 */
extern bool zscan_events_fire(void);

extern void zscan_query_hooks_register(void);

#endif							/* ZHEAP_QUERY_H */
