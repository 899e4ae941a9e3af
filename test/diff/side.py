"""One side of the comparison: some sessions of one database, driven step by step.

After each step all sessions are either finished or wait for a lock of one that is
not going to move by itself.  What each step brought about is a line of the trace.

Which session a deadlock ends is determined: every session looks for one only once,
DEADLOCK_MS after it began to wait, and the next step is not taken before.  So it is
always the session that closed the circle.
"""

import re
import select
import time

from wire import Session

DEADLOCK_MS = 4
SETTLE = 0.014              # seconds a session has waited before we believe it blocked
HANG = 40                   # seconds after which a step that does nothing is an error


class Side:
    def __init__(self, host, port, database, sessions, options=''):
        self.database = database
        opts = ('-c deadlock_timeout=%d -c statement_timeout=30s -c client_min_messages=notice '
                '-c log_lock_waits=off -c max_parallel_workers_per_gather=0 '
                '-c log_min_error_statement=panic -c log_min_messages=fatal %s'
                % (DEADLOCK_MS, options))
        self.connect = lambda: Session(host, port, database, opts)
        self.sessions = [self.connect() for _ in range(sessions + 1)]   # 0 is our own
        self.control = self.connect()
        self.blocked = {}           # session -> pids it was seen to wait for

    def close(self):
        for s in self.sessions + [self.control]:
            s.close()

    def reset(self):
        """End everything a schedule may have left."""
        pids = [s.pid for s in self.sessions if s.busy()]
        for p in pids:
            self.control.query('SELECT pg_cancel_backend(%d)' % p)
        self.blocked = {}
        for k, s in enumerate(self.sessions):
            if s.busy():
                s.wait(HANG)
            s.take()
            s.send('ROLLBACK')
            s.send('DISCARD ALL')
            s.wait(HANG)
            s.take()
        for (gid,) in self.prepared():
            self.control.query("ROLLBACK PREPARED '%s'" % gid)

    def prepared(self):
        return self.control.query('SELECT gid FROM pg_prepared_xacts '
                                  'WHERE database = current_database() ORDER BY gid')

    def setup(self, statements, inits):
        self.reset()
        self.control.query('SET client_min_messages = error; '
                           'DROP SCHEMA public CASCADE; CREATE SCHEMA public; '
                           'RESET client_min_messages')
        for s in statements:
            self.control.query(self.localise(s))
        for k, s in inits:
            self.sessions[k].query(s)

    def localise(self, sql):
        """Names of prepared transactions are shared by the databases of a cluster."""
        return sql.replace('@DB@', self.database)

    def step(self, k, sql):
        """Let session k do sql.  Returns the outcome of k and of all that it woke."""
        session = self.sessions[k]
        if session.busy():
            return ['skipped: session is blocked']
        session.send(self.localise(sql))
        session.sql = sql
        return self.settle(k)

    def settle(self, k):
        outcome = []
        since = {}                  # session -> (pids it waits for, first seen)
        start = time.monotonic()
        idle = 0.001
        while True:
            busy = [i for i, s in enumerate(self.sessions) if s.busy()]
            if not busy:
                break
            ready = select.select([self.sessions[i].sock for i in busy], [], [], idle)[0]
            if ready:
                for i in busy:
                    s = self.sessions[i]
                    if s.sock in ready:
                        s.read()
                        if not s.busy():
                            outcome.append((i, self.result(s)))
                            self.blocked.pop(i, None)
                            since.pop(i, None)
                if not self.others_busy():
                    break
                continue
            now = time.monotonic()
            waits = self.waits(busy)
            quiet = True
            for i in busy:
                pids = waits[i]
                if not pids:
                    quiet = False
                    since.pop(i, None)
                    self.blocked.pop(i, None)
                elif self.blocked.get(i) == pids:
                    pass
                elif i not in since or since[i][0] != pids:
                    since[i] = (pids, now)
                    quiet = False
                elif now - since[i][1] < SETTLE:
                    quiet = False
            if quiet and not self.circle(busy, waits):
                for i in busy:
                    self.blocked[i] = waits[i]
                break
            if now - start > HANG:
                outcome.append((k, 'hangs'))
                break
            idle = min(idle * 2, 0.008)
        if self.sessions[k].busy():
            outcome.append((k, 'blocked'))
        return sorted('s%d %s' % o for o in outcome)

    def others_busy(self):
        return any(s.busy() for s in self.sessions)

    def waits(self, busy):
        rows = self.control.query(
            "SELECT p, pg_blocking_pids(p) FROM unnest('{%s}'::int[]) p"
            % ','.join(str(self.sessions[i].pid) for i in busy))
        found = {int(p): frozenset(int(x) for x in b.strip('{}').split(',') if x) for p, b in rows}
        return {i: found[self.sessions[i].pid] for i in busy}

    def circle(self, busy, waits):
        """Does every way from some busy session lead back into waiting sessions only?"""
        pids = {self.sessions[i].pid: i for i in busy}
        for i in busy:
            seen, todo = set(), [i]
            while todo:
                for p in waits[todo.pop()]:
                    if p in pids:
                        j = pids[p]
                        if j == i:
                            return True
                        if j not in seen:
                            seen.add(j)
                            todo.append(j)
        return False

    def result(self, session):
        """The reply in text, without what differs between two runs on the same side."""
        out = []
        rows = []
        for item in session.take():
            if item[0] == 'row':
                rows.append('(' + ','.join('null' if x is None else x for x in item[1]) + ')')
                continue
            out += rows if ordered(session.sql) else sorted(rows)
            rows = []
            if item[0] == 'tag':
                out.append(item[1])
            else:
                out.append(self.message(item))
        return ' | '.join(out + sorted(rows))

    def message(self, item):
        kind, code, text, detail, context = item
        if code == '40P01':
            detail = context = None
        words = [kind, code, text]
        if detail:
            words.append('DETAIL ' + detail)
        if context:
            words.append('CONTEXT ' + context.replace('\n', '; '))
        line = ' '.join(words).replace(self.database, '@DB@')
        line = re.sub(r'tuple \(\d+,\d+\)', 'tuple (,)', line)
        line = re.sub(r'(transaction|process|relation|database) \d+', r'\1 N', line)
        return line


def ordered(sql):
    return re.search(r'order by|^fetch', sql, re.I) is not None
