# An invalidation message for all relations makes the server rebuild its relation cache entries, which fails halfway: after that the session
# uses no old entry of a table's indexes, or of the undo relation.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('primary', [ 'autovacuum = off', 'zheap.undo_workers = 0' ]);

$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, k int) using zheap;
insert into t select g, 0 from generate_series(1, 10) g;
create table held as select 1;
create table other as select 1;
SQL

# ---- a session has cached the table and the undo relation, and receives 10,000 messages only when it continues ----

my $session = session($node);
my $holder = session($node);
$holder->query_safe('select pg_advisory_lock(1)');
is(answer_in($session, 'update t set k = 1 where id = 1; begin; declare c cursor for select from held; fetch c; savepoint a'), '', 'one relation is in use');
begin_in($session, 'do $$ begin perform pg_advisory_xact_lock(1); perform count(*) from other; end $$');
ok(wait_until(sub { $holder->query_safe("select count(*) from pg_locks where locktype = 'advisory' and not granted") eq '1' }), 'the session waits');
$holder->query_safe('create index on t (k)');
$holder->query_safe(q{do $$ begin for i in 1..300 loop execute 'create table passing (a int)'; execute 'drop table passing'; end loop; end $$});

# ---- then it rebuilds the entries in use, and is cancelled meanwhile ----

$holder->query_safe('begin; lock table pg_attribute in access exclusive mode; select pg_advisory_unlock(1)');
ok(wait_until(sub { $holder->query_safe('select count(*) from pg_locks where relation = 1249 and not granted') eq '1' }),
	'it waits for a catalog');
$holder->query_safe("select pg_cancel_backend($session->{pid})");
ok(wait_until(sub { ended($session) }), 'it ends');
like($session->{answer}, qr/canceling statement/, 'it has failed');
$holder->query_safe('commit');

# ---- it continues ----

is(answer_in($session, 'rollback to a; update t set k = 77 where id = 5; commit'), '', 'the session goes on');
is(answer_in($session, 'set enable_seqscan = off; set enable_bitmapscan = off; select id from t where k = 77'), '5', 'the new index has its change');
is(answer_in($session, 'select string_agg(id::text, $$ $$ order by id) from t where k > 0'), '1 5', 'and all of the table');
$_->quit foreach $session, $holder;
no_crash_in_log($node, 'primary');
$node->stop;
done_testing();
