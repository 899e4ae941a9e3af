"""One side of the comparison: some sessions of one database, driven step by step.

After each step every session is either finished or waits for a lock that another one
holds.  What the step brought about is a line of the trace.

Only one session runs at a time, or what happens would depend on which of two is
faster.  So a session that waits is stopped (SIGSTOP), until it has been granted its
lock and it is its turn: those who were woken go on one by one, in the order in which
they began to wait.  A session that waits sleeps and holds nothing but its locks and
pins, so the others do not notice.  And since only the running session can look for a
deadlock, it is always the one that closes the circle whose transaction ends.

@TOAST@ in a statement is the TOAST table of t.  A step may also be one of these:
\\cancel          of the statement that the session waits with
\\cancel N SQL    of SQL, N ms after it has begun; it must not end by itself before
\\terminate       of the session, whatever it does; another one takes its place
\\terminate N SQL  of the session, N ms after SQL has begun
\\horizon         the undo horizon moves on, where there is one
"""

import os
import re
import signal
import time

from wire import Session

DEADLOCK_MS = 4
HANG = 40                   # seconds after which a step that does nothing is an error
INTERRUPT = re.compile(r'\\(cancel|terminate)(?: (\d+) (.*))?$', re.S)
TICK = 1 / os.sysconf('SC_CLK_TCK')


class Side:
    def __init__(self, host, port, database, sessions, zheap=False):
        self.database = database
        self.zheap = zheap
        opts = ('-c deadlock_timeout=%d -c statement_timeout=30s -c client_min_messages=notice '
                '-c log_lock_waits=off -c max_parallel_workers_per_gather=0 -c jit=off '
                '-c log_min_error_statement=panic -c log_min_messages=fatal' % DEADLOCK_MS)
        self.connect = lambda: Session(host, port, database, opts)
        self.sessions = [self.connect() for _ in range(sessions + 1)]   # 0 is our own
        self.control = self.connect()
        self.blocked = []           # sessions that wait, stopped, in the order they began
        self.inits = {}             # session -> settings

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

    def setup(self, statements, inits, slots):
        self.reset()
        self.inits = {}
        if self.zheap:
            self.inits = {i: ['SET zheap.initial_slots = %d' % slots] for i in range(len(self.sessions))}
            self.control.query(self.inits[0][0])
        self.control.query('SET client_min_messages = error; '
                           'DROP SCHEMA public CASCADE; CREATE SCHEMA public; '
                           'RESET client_min_messages')
        for s in statements:
            self.control.query(self.localise(s))
        for k, s in inits:
            self.inits.setdefault(k, []).append(s)
        for k in self.inits:
            self.initialise(k)

    def initialise(self, k):
        for s in self.inits.get(k, []):
            self.sessions[k].query(s)

    def localise(self, sql):
        """Names of prepared transactions are shared by the databases of a cluster; the name
        of a TOAST table is known by its number only."""
        if '@TOAST@' in sql:
            name = self.control.query("SELECT reltoastrelid::regclass FROM pg_class WHERE oid = to_regclass('t')")
            sql = sql.replace('@TOAST@', name[0][0] if name else 't')
        return sql.replace('@DB@', self.database)

    def step(self, k, sql):
        """Let session k do sql.  Returns the outcome of k and of all that it woke."""
        session = self.sessions[k]
        interrupt = INTERRUPT.match(sql)
        if sql == '\\horizon':
            if self.zheap:
                self.control.query('VACUUM zheap.undo')
            return []
        if interrupt:
            outcome = self.interrupt(k, *interrupt.groups())
        elif session.busy():
            outcome = None
        else:
            session.send(self.localise(sql))
            session.sql = sql
            outcome = self.settle(k)
        if outcome is None:
            return ['s%d skipped: it is %s' % (k, 'blocked' if session.busy() else 'not blocked')]
        woken = []
        i = self.woken()
        while i is not None:
            place = self.blocked.index(i)
            self.blocked.remove(i)
            self.signal(i, signal.SIGCONT)
            end = self.settle(i)
            if end.endswith(' blocked'):
                # how often one statement waits is no answer, and does not change its place
                self.blocked.remove(i)
                self.blocked.insert(place, i)
            else:
                woken.append(end)
            i = self.woken()
        # who of several is heard of first is no answer
        return [outcome] + sorted(woken)

    def interrupt(self, k, how, ms, sql):
        """Cancel or terminate what session k does, or sql after some time."""
        session = self.sessions[k]
        if sql and session.busy() or how == 'cancel' and not sql and not session.busy():
            return None
        if sql:
            session.sql = sql
            session.send(self.localise(sql))
            end = time.monotonic() + int(ms) / 1000
            while session.busy() and time.monotonic() < end:
                session.read(max(0, end - time.monotonic()))
        elif k in self.blocked:
            self.blocked.remove(k)
        ask = 'SELECT pg_%s_backend(%d)' % (how, session.pid)
        self.control.query(ask)
        self.signal(k, signal.SIGCONT)
        if how == 'terminate':
            self.replace(k)
            return 's%d terminated' % k
        end = time.monotonic() + HANG
        while session.busy() and not session.read(0.2):
            if time.monotonic() > end:
                raise TimeoutError('s%d is not cancelled' % k)
            self.control.query(ask)     # it may have come before the statement
        session.wait(HANG)
        result = self.result(session)
        # it may have run into a deadlock, or another error, before
        return 's%d %s' % (k, 'interrupted' if sql and 'error ' in result else result)

    def replace(self, k):
        """Session k has been terminated."""
        old = self.sessions[k]
        end = time.monotonic() + HANG
        while os.path.exists('/proc/%d' % old.pid):
            if time.monotonic() > end:
                raise TimeoutError('s%d does not terminate' % k)
            time.sleep(0.001)
        old.close()
        self.sessions[k] = self.connect()
        self.initialise(k)

    def cpu(self):
        """Seconds of processor time that each session has taken."""
        used = {}
        for s in self.sessions:
            try:
                with open('/proc/%d/stat' % s.pid) as f:
                    fields = f.read().rsplit(')', 1)[1].split()
                used[s.pid] = (int(fields[11]) + int(fields[12])) * TICK
            except OSError:
                pass
        return used

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
                if self.stop(k):
                    self.blocked.append(k)
                    return 's%d blocked' % k
            if time.monotonic() - start > HANG:
                raise TimeoutError('s%d neither finishes nor waits for a lock' % k)
            pause = min(pause * 2, 0.008)
        return 's%d %s' % (k, self.result(session))

    def stop(self, k):
        """Stop session k, but not while it looks for a deadlock: then it holds the lock
        table, which our own question about it tells.  False: it does not wait any more, and
        goes on; stopped somewhere it might hold what all need."""
        pid = self.sessions[k].pid
        while True:
            self.signal(k, signal.SIGSTOP)
            self.control.send('SELECT wait_event_type, pg_blocking_pids(%d) FROM pg_stat_activity WHERE pid = %d'
                              % (pid, pid))
            try:
                self.control.wait(0.1)
                if any(x[0] == 'row' and x[1][0] == 'Lock' for x in self.control.take()):
                    return True
                self.signal(k, signal.SIGCONT)
                return False
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
        # where heap waits when it has gone on to the row's next version
        line = line.replace('while rechecking updated tuple', 'while locking tuple')
        line = re.sub(r'(tuple|version) \(\d+,\d+\)', r'\1 (,)', line)
        line = re.sub(r'(transaction|process|relation|database|pivot) \d+', r'\1 N', line)
        return line


def ordered(sql):
    return re.match(r'fetch|(select|copy).*\border by\b', sql, re.I) is not None
