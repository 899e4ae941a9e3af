"""One side of the comparison: some sessions of one database, driven step by step.

After each step every session is either finished or waits for a lock that another one
holds.  What the step brought about is a line of the trace.

Only one session runs at a time, or what happens would depend on which of two is
faster.  So a session that waits is stopped (SIGSTOP), until it has been granted its
lock and it is its turn: those who were woken go on one by one, in the order in which
they began to wait.  A session that waits sleeps and holds nothing but its locks and
pins, so the others do not notice.  And since only the running session can look for a
deadlock, it is always the one that closes the circle whose transaction ends.
"""

import os
import re
import signal
import time

from wire import Session

DEADLOCK_MS = 4
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
        self.blocked = []           # sessions that wait, stopped, in the order they began

    def close(self):
        for i in self.blocked:
            self.signal(i, signal.SIGCONT)
        for s in self.sessions + [self.control]:
            s.close()

    def reset(self):
        """End everything a schedule may have left."""
        for i, s in enumerate(self.sessions):
            if s.busy():
                self.signal(i, signal.SIGCONT)
                self.control.query('SELECT pg_cancel_backend(%d)' % s.pid)
        self.blocked = []
        for s in self.sessions:
            if s.busy():
                s.wait(HANG)
            s.take()
            s.send('ROLLBACK')
            s.send('DISCARD ALL')
            s.wait(HANG)
            s.take()
        for (gid,) in self.prepared():
            self.control.query("ROLLBACK PREPARED '%s'" % gid)

    def signal(self, i, number):
        try:
            os.kill(self.sessions[i].pid, number)
        except ProcessLookupError:
            pass

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
            return ['s%d skipped: it is blocked' % k]
        session.send(self.localise(sql))
        session.sql = sql
        outcome = [self.settle(k)]
        i = self.woken()
        while i is not None:
            self.blocked.remove(i)
            self.signal(i, signal.SIGCONT)
            end = self.settle(i)
            if not end.endswith(' blocked'):
                outcome.append(end)
            i = self.woken()
        # who of several is heard of first is no answer
        return outcome[:1] + sorted(outcome[1:])

    def settle(self, k):
        """Wait until session k, which runs, has finished or waits for another one."""
        session = self.sessions[k]
        start = time.monotonic()
        pause = 0.0015
        while session.busy():
            if session.read(pause):
                continue
            waits = self.waits([k] + self.blocked)
            if waits[k] and not self.circle(k, waits):
                self.blocked.append(k)
                self.stop(k)
                return 's%d blocked' % k
            if time.monotonic() - start > HANG:
                raise TimeoutError('s%d neither finishes nor waits for a lock' % k)
            pause = min(pause * 2, 0.008)
        return 's%d %s' % (k, self.result(session))

    def stop(self, k):
        """Stop session k, but not while it looks for a deadlock: then it holds the lock
        table, which our own question about it tells."""
        while True:
            self.signal(k, signal.SIGSTOP)
            self.control.send('SELECT pg_blocking_pids(%d)' % self.sessions[k].pid)
            try:
                self.control.wait(0.1)
                self.control.take()
                return
            except TimeoutError:
                self.signal(k, signal.SIGCONT)
                self.control.wait(HANG)
                self.control.take()

    def woken(self):
        """The first of the waiting sessions that has been granted what it waited for."""
        if self.blocked:
            waits = self.waits(self.blocked)
            for i in self.blocked:
                if not waits[i]:
                    return i
        return None

    def waits(self, which):
        """For whom each of these sessions waits: our sessions, or 0, a prepared transaction."""
        ours = {s.pid: i for i, s in enumerate(self.sessions)}
        rows = self.control.query(
            "SELECT p, pg_blocking_pids(p) FROM unnest('{%s}'::int[]) p"
            % ','.join(str(self.sessions[i].pid) for i in which))
        return {ours[int(p)]: [ours.get(int(x), 0) for x in pids.strip('{}').split(',')
                               if x == '0' or int(x or -1) in ours] for p, pids in rows}

    def circle(self, k, waits):
        """Does k wait for itself?  Then it will notice."""
        seen, todo = set(), [k]
        while todo:
            for j in waits.get(todo.pop(), []):
                if j == k:
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
        line = re.sub(r'(transaction|process|relation|database|pivot) \d+', r'\1 N', line)
        return line


def ordered(sql):
    return re.match(r'fetch|(select|copy).*\border by\b', sql, re.I) is not None
