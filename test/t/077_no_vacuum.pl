# Writers remove the index entries of deleted rows, and their line pointers, of rows with several keys as well: tables and indexes stay
# as large as they are without VACUUM, and each index has the rows that the table has, and no entry for anything else; beside VACUUM,
# builds of indexes, old snapshots, errors, crashes, on a standby.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $seconds = short() ? 5 : 15;
my $removed;
my $node = new_server('reaped', ['shared_buffers = 64MB', 'autovacuum = off', 'zheap.remove_dead_entries = on'], allows_streaming => 1);

seed();
$node->safe_psql('postgres', <<'SQL');
create extension amcheck;
create extension pageinspect;

-- on leaves that are neither half-dead nor deleted
create function entries_of(index text) returns setof tid language plpgsql as $$
declare
	page bytea;
begin
	for b in 1 .. pg_relation_size(index) / 8192 - 1 loop
		page := get_raw_page(index, b::int);
		if get_byte(page, 8188) & 21 = 1 then
			return query select unnest(coalesce(tids, array[htid])) from bt_page_items(page) where dead is not null;
		end if;
	end loop;
end $$;

-- line pointers that are in use; does the row say that it has several keys?
create function pointers_of(tab text) returns table (place tid, several bool) language sql as $$
	select format('(%s,%s)', b, o)::tid, dead = 1 or get_byte(page, least(start, 8190) + 1) & 2 > 0
	from generate_series(0, pg_relation_size(tab) / 8192 - 1) b,
		lateral (select get_raw_page(tab, b::int) as page offset 0) p,
		generate_series(1, (get_byte(page, 12) + 256 * get_byte(page, 13) - 24) / 4) o,
		lateral (select get_byte(page, 20 + 4 * o) + 256 * (get_byte(page, 21 + 4 * o) & 127) as start, get_byte(page, 21 + 4 * o) >> 7 as normal,
			get_byte(page, 22 + 4 * o) & 1 as dead) l
	where normal + dead > 0 $$;

-- entries that name nothing, and rows that several entries name though they have one key
create function strays(tab text) returns setof text language plpgsql as $$
declare
	index text;
begin
	create temp table pointers on commit drop as select * from pointers_of(tab);
	for index in select indexrelid::regclass from pg_index where indrelid = tab::regclass loop
		return query select format('%s %s: %s entries', index, place, n) from (select e as place, count(*) as n from entries_of(index) e group by e) s
			left join pointers using (place) where several is null or n > 1 and not several;
	end loop;
	drop table pointers;
end $$;
SQL

# The indexes of a table, from the catalog.
sub indexes_of
{
	my ($table) = @_;

	return split /\n/, $node->safe_psql('postgres', "select indexrelid::regclass from pg_index where indrelid = '$table'::regclass order by 1");
}

# Each index is sound and has all rows, and none that is not there.
sub sound
{
	my ($table, $what, $server) = @_;
	my @wrong;
	$server //= $node;

	foreach my $index (indexes_of($table))
	{
		my ($rc, $out, $err) = $server->psql('postgres', "select bt_index_check('$index', true)");

		push @wrong, "$index: $err" if $rc;
	}
	my $scans = join('; ', map { my $on = $_;
		join('; ', map { "set enable_$_ = " . ($_ eq $on ? 'on' : 'off') } qw(seqscan indexscan indexonlyscan bitmapscan)) .
		  "; select count(*), sum(id) from $table where id > -1; select count(*), sum(id) from $table where n > -1 or n is null" } qw(seqscan indexscan indexonlyscan bitmapscan));
	my %answers = map { $_ => 1 } split /\n/, $server->safe_psql('postgres', "begin isolation level repeatable read; $scans; commit");

	push @wrong, 'scans differ: ' . join(' ', keys %answers) if keys %answers != 1;
	push @wrong, $server->safe_psql('postgres', "select s from strays('$table') s limit 10") || () unless defined $_[2];
	is_deeply(\@wrong, [], "$what: sound");
	return;
}

# Blocks of the table and of its indexes.
sub blocks
{
	my ($table) = @_;

	return split /\|/, $node->safe_psql('postgres',
		"select pg_relation_size('$table') / 8192, sum(pg_relation_size(indexrelid) / 8192) from pg_index where indrelid = '$table'::regclass");
}

# Rows that writers have removed, and left.
my @living;						# sessions
sub counted
{
	my ($table, $so_far) = @_;

	counts_told($node, @living) unless $so_far;
	return split /\|/, $node->safe_psql('postgres', "select dead_rows_removed, dead_rows_left from zheap.zheap_stat_tables where relname = '$table'");
}

# ---- a queue ----
$node->safe_psql('postgres', <<'SQL');
create table queue (id bigint primary key, n int, note text) using zheap;
create index queue_n on queue (n);
create index queue_note on queue (note, id desc);
create sequence ids;
create procedure queue_rounds(rounds int) language plpgsql as $$
begin
	for i in 1..rounds loop
		insert into queue select nextval('ids'), case when g % 7 > 0 then g % 50 end, 'note ' || g % 11 from generate_series(1, 300) g;
		commit;
		delete from queue where id in (select id from queue order by id limit 300);
		commit;
	end loop;
end $$;
insert into queue select nextval('ids'), g % 50, 'note ' || g % 11 from generate_series(1, 3000) g;
SQL
$node->safe_psql('postgres', 'call queue_rounds(20)');
my @before = blocks('queue');
$node->safe_psql('postgres', 'call queue_rounds(200)');
my @after = blocks('queue');
my @counted = counted('queue');
note("queue: @before blocks, then @after; rows removed, left: @counted");
cmp_ok($after[0], '<=', 1.1 * $before[0], 'a queue stays as large as it was');
cmp_ok($after[1], '<=', 1.1 * $before[1], 'and its indexes');
cmp_ok($counted[0], '>', 60000 * 0.97, 'nearly all rows are removed');
sound('queue', 'a queue');

ok(wait_until(sub { $node->safe_psql('postgres', "select n_dead_tup < 6000 from pg_stat_user_tables where relname = 'queue'") eq 't' }),
	'autovacuum has no reason to come');

# ---- old snapshots ----
my $old = session($node);
push @living, $old;
$old->query_safe('begin isolation level repeatable read');
my $by_index = 'set enable_seqscan = off; set enable_bitmapscan = off; select count(*), sum(id) from queue where id > 0';
my $seen = $old->query_safe($by_index);
@counted = counted('queue');
$node->safe_psql('postgres', 'call queue_rounds(10)');
cmp_ok((counted('queue'))[0] - $counted[0], '<', 1000, 'nothing is removed that an old snapshot sees');
is($old->query_safe($by_index), $seen, 'it sees what it saw');
$old->query_safe('commit');
$node->safe_psql('postgres', 'call queue_rounds(60)');
cmp_ok((counted('queue'))[0], '>', $counted[0] + 17000, 'it goes on afterwards');
sound('queue', 'after an old snapshot');

my $reader = session($node);
push @living, $reader;
$reader->query_safe('begin; declare c cursor for select id from queue where id > 0 order by id; fetch 5 from c');
$node->safe_psql('postgres', 'call queue_rounds(5)');
my @rest = split /\n/, $reader->query_safe('fetch all from c');
is(scalar(@rest), 2995, 'a scan goes on where it was');
$reader->query_safe('commit');

# ---- what is rolled back ----
$node->safe_psql('postgres', <<'SQL');
do $$
begin
	for i in 1..20 loop
		begin
			delete from queue where id in (select id from queue order by id limit 200);
			raise exception 'rolled back';
		exception when raise_exception then
		end;
		insert into queue values (nextval('ids'), i, 'kept');
	end loop;
end $$;
call queue_rounds(20);
SQL
is($node->safe_psql('postgres', 'select count(*) from queue'), 3020, 'rows whose deletion was rolled back stay');
sound('queue', 'after rolling back');

# ---- VACUUM so slow that rows could come between what it has collected and what it removes ----
my $vacuum = session($node);
my $worker = session($node);
push @living, $vacuum, $worker;
$vacuum->query_safe('set vacuum_cost_delay = 5; set vacuum_cost_limit = 1');
foreach my $try (1 .. 2)
{
	# the session ends with line pointers that no index names, and that wait to be freed
	$worker->query_safe("call queue_rounds(3); insert into queue select nextval('ids'), g, 'note' from generate_series(1, 300) g");
	begin_in($vacuum, 'vacuum (index_cleanup on) queue');
	ok(wait_until(sub {
		ended($vacuum) || $node->safe_psql('postgres', "select count(*) from pg_stat_progress_vacuum where phase not in ('initializing', 'scanning heap')") }),
		'VACUUM has collected them');
	$worker->query_safe('call queue_rounds(5)');
	ok(wait_until(sub { ended($vacuum) }), 'a slow VACUUM');
	sound('queue', "a slow VACUUM, $try");
	$worker->query_safe("delete from queue where note = 'note'; call queue_rounds(10)");
	sound('queue', 'and after it');
}

# ---- line pointers that have become other rows' meanwhile ----
$worker->query_safe("call queue_rounds(3); insert into queue select nextval('ids'), g, 'note' from generate_series(1, 300) g");
$node->safe_psql('postgres', <<'SQL');
set zheap.remove_dead_entries = off;
vacuum (index_cleanup on) queue;
insert into queue select nextval('ids'), g, 'gone' from generate_series(1, 1000) g;
delete from queue where note = 'gone';
vacuum (index_cleanup off) queue;
SQL
$worker->query_safe("delete from queue where note = 'note'; call queue_rounds(5)");
sound('queue', 'VACUUM, and other rows, since pointers were noted');

# ---- which tables ----
$node->safe_psql('postgres', <<'SQL');
create table other (id int primary key, n int, note text) using zheap;
create index other_upper on other (upper(note));
create procedure other_rounds(rounds int) language plpgsql as $$
begin
	for i in 1..rounds loop
		insert into other select g, g, 'note ' || g from generate_series(1, 300) g;
		commit;
		delete from other where id > 0;
		commit;
	end loop;
end $$;
call other_rounds(10);
insert into other values (0, 0, 'zero');
SQL
is((counted('other'))[0] // 0, 0, 'a table with an index on an expression is left to VACUUM');
$node->safe_psql('postgres', 'drop index other_upper');
$node->safe_psql('postgres', 'call other_rounds(10)');
cmp_ok((counted('other'))[0], '>', 1500, 'until that index is dropped');
$node->safe_psql('postgres', 'truncate other');
$node->safe_psql('postgres', 'call other_rounds(5)');
$node->safe_psql('postgres', 'alter table other alter n type bigint');
$node->safe_psql('postgres', 'call other_rounds(5)');
sound('other', 'truncated and rewritten');

$node->safe_psql('postgres', 'create index other_n on other (n)');
@counted = counted('other');
$node->safe_psql('postgres', <<'SQL');
insert into other select g, g, 'several' from generate_series(1001, 1400) g;
update other set n = n + 10000 where id > 1000;
delete from other where id > 1000;
-- which marks their entries as dead
set enable_seqscan = off;
set enable_bitmapscan = off;
select count(*) from other where n > 1000;
select count(*) from other where n > 1000;
call other_rounds(10);
SQL
cmp_ok((counted('other'))[0], '>=', $counted[0] + 400, 'rows with several keys are removed, where indexes are small');
is((counted('other'))[1], $counted[1], 'and none is left');
sound('other', 'with several keys');
$node->safe_psql('postgres', 'vacuum other');
$node->safe_psql('postgres', 'call other_rounds(10)');
sound('other', 'after VACUUM');

# ---- an index that is large compared with the rows ----
$node->safe_psql('postgres', <<'SQL');
create table large (id int primary key, n int, pad text collate "C") using zheap;
insert into large select g, g, repeat('x', 400) from generate_series(10001, 32000) g;
create index large_n on large (n, pad);
create procedure large_rounds(rounds int) language plpgsql as $$
begin
	for i in 1..rounds loop
		insert into large values (nextval('ids') + 1000000, 0, 'new');
		commit;
	end loop;
end $$;
create function large_dead() returns bigint language sql as $$
	select (select count(*) from pointers_of('large')) - (select count(*) from large) $$;
SQL
cmp_ok((blocks('large'))[1], '>', 1100, 'a large index');
my $writer = session($node);
push @living, $writer;
$writer->query_safe('update large set n = n + 100000 where id <= 11000');
$writer->query_safe('delete from large where id <= 11000');
$writer->query_safe('call large_rounds(40)');
is($_ || 0, 0, 'as long as they are fewer than leaves they wait') foreach counted('large');
sound('large', 'with a large index');
$writer->query_safe('delete from large where id between 14000 and 32000');
ok(wait_until(sub { $writer->query_safe('call large_rounds(10)'); (counted('large'))[0] >= 16000 }), 'rows with one key are removed');
ok(wait_until(sub {
	$writer->query_safe("insert into large select nextval('ids') + 1000000, 0, 'more' from generate_series(1, 250) g");
	$writer->query_safe("delete from large where pad = 'more'; call large_rounds(10)");
	$node->safe_psql('postgres', 'select large_dead() < 1000') eq 't' }), 'when the index has become small, so are those with several that were kept');
note('large: ' . join(' ', blocks('large'), counted('large')));
sound('large', 'when it has become small');

# ---- errors of operator classes ----
$node->safe_psql('postgres', <<'SQL');
create function failing_cmp(int, int) returns int immutable strict language plpgsql as $$
begin
	if current_setting('test.fail', true) = 'yes' then raise exception 'failing'; end if;
	return btint4cmp($1, $2);
end $$;
create operator class failing for type int using btree as
	operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >, function 1 failing_cmp(int, int);
create table failing (id int, n int) using zheap;
create index failing_n on failing (n failing);
insert into failing select g, g from generate_series(1, 1000) g;
SQL
my $failing = session($node);
push @living, $failing;
$failing->query_safe('delete from failing where id <= 500');
$node->safe_psql('postgres', 'select pg_current_xact_id()');
$failing->query("set test.fail = 'yes'; begin; savepoint a; delete from failing where id = 600");
$failing->query('rollback to a; reset test.fail');
like($failing->{stderr}, qr/ERROR:  failing/, 'the functions of operator classes are called');
$failing->{stderr} = '';
is($failing->query_safe('insert into failing values (2000, 2000); commit; select count(*) from failing'), 501, 'an error ends the statement, and no more');
$failing->query_safe('delete from failing where id between 601 and 900; select pg_current_xact_id()');
$failing->query_safe('insert into failing values (2001, 2001)');
sound('failing', 'after errors');
is($node->safe_psql('postgres', 'select count(*) from failing'), 202, 'and no row is lost');

# ---- a queue as PGMQ has it: when a message is read the key changes by which it is looked for ----
my $scripts = PostgreSQL::Test::Utils::tempdir();
$node->safe_psql('postgres', <<'SQL');
create sequence turns;
create table messages (id bigint primary key default nextval('ids'), n bigint not null default nextval('turns'), reads int default 0, note text) using zheap;
create index messages_n on messages (n);
insert into messages (note) select 'message' from generate_series(1, 100);
SQL
append_to_file("$scripts/turn.sql", <<'SQL');
\set id 0
\set times random(1, 3)
insert into messages (note) values ('message');
with next as (select id from messages where n < 1000000000 order by n limit 1 for update skip locked)
	update messages m set n = 1000000000 + nextval('turns'), reads = reads + 1 from next where m.id = next.id returning m.id as id \aset
\if :times > 1
update messages set n = n + 1000000 where id = :id;
\endif
\if :times > 2
update messages set n = n - 1000000 where id = :id;
\endif
delete from messages where id = :id;
SQL
my @turns = ('-c', 4, '-j', 2, '-f', "$scripts/turn.sql");
my ($rc, $out, $err) = pgbench_run($node, @turns, '-t', short() ? 500 : 1000);
is($rc, 0, 'turns of a queue') or diag($err);
@before = blocks('messages');
sound('messages', 'messages');
($rc, $out, $err) = pgbench_run($node, @turns, '-t', short() ? 2000 : 4000);
is($rc, 0, 'more turns') or diag($err);
@after = blocks('messages');
@counted = counted('messages');
note("messages: @before blocks, then @after; rows removed, left: @counted");
# a busy machine holds up sessions, and their snapshots everything else; if nothing were removed it would be 100 and 200 blocks more
cmp_ok($after[0], '<=', $before[0] + 60, 'a queue of rows with several keys does not grow with the number of turns');
cmp_ok($after[1], '<=', $before[1] + 120, 'nor do its indexes');
# what eight sessions have noted when they end is left
cmp_ok($counted[0], '>=', (short() ? 10000 : 20000) - 8 * 800, 'most rows are removed');
sound('messages', 'and messages');

my $by_key = 'set enable_seqscan = off; set enable_bitmapscan = off; select count(*), sum(id), sum(n) from messages where n > 0';
$old->query_safe('begin isolation level repeatable read');
$seen = $old->query_safe($by_key);
$reader->query_safe('begin; set enable_seqscan = off; set enable_bitmapscan = off');
my @all = split /\n/, $reader->query_safe('select id from messages where n > 0 order by n');
$reader->query_safe('declare c cursor for select id from messages where n > 0 order by n; fetch 5 from c');
($rc, $out, $err) = pgbench_run($node, @turns, '-t', 500);
is($rc, 0, 'turns beside a snapshot') or diag($err);
is($old->query_safe($by_key), $seen, 'it sees what it saw, by the old keys');
is_deeply([ split /\n/, $reader->query_safe('fetch all from c') ], [ @all[5 .. $#all] ], 'and a scan goes on where it was');
$_->query_safe('commit') foreach $old, $reader;
$removed = (counted('messages'))[0];
($rc, $out, $err) = pgbench_run($node, @turns, '-t', 1000);
is($rc, 0, 'turns afterwards') or diag($err);
cmp_ok((counted('messages'))[0], '>', $removed + 1000, 'it goes on afterwards');
sound('messages', 'messages, after a snapshot');

# ---- rows that come and go anywhere ----
$node->safe_psql('postgres', <<'SQL');
create table any_row (id int primary key, n int, note text collate "C", pad text) using zheap;
create index any_row_n on any_row (n, id);
create index any_row_note on any_row (note desc nulls first, n);
create unique index any_row_both on any_row (note, id);
create index any_row_few on any_row (note);
insert into any_row select g, g % 1000, case when g % 9 > 0 then 'note ' || g % 100 end, repeat('x', 40) from generate_series(1, 10000) g;
create function answers() returns setof text language plpgsql as $$
declare
	kind text;
	one text;
	answer text;
begin
	foreach kind in array array['seqscan', 'indexscan', 'indexonlyscan', 'bitmapscan'] loop
		foreach one in array array['seqscan', 'indexscan', 'indexonlyscan', 'bitmapscan'] loop
			perform set_config('enable_' || one, case when one = kind then 'on' else 'off' end, true);
		end loop;
		execute 'select count(*) || '' '' || coalesce(sum(id), 0) from any_row where id > -1' into answer;
		return next answer;
		execute 'select count(*) || '' '' || coalesce(sum(id), 0) from any_row where n > -1' into answer;
		return next answer;
		execute 'select count(*) || '' '' || coalesce(sum(id), 0) from any_row where note is null or note >= ''a''' into answer;
		return next answer;
	end loop;
end $$;
SQL
append_to_file("$scripts/replace.sql", <<'SQL');
\set a random(1, 20000)
\set b random(1, 20000)
delete from any_row where id = :a;
insert into any_row values (:b, :b % 997, case when :b % 5 > 0 then 'note ' || :a % 100 end, repeat('y', 30 + :b % 40)) on conflict do nothing;
SQL
append_to_file("$scripts/move.sql", <<'SQL');
\set a random(1, 20000)
update any_row set pad = repeat('m', 20 + :a % 80) where id = :a;
SQL
append_to_file("$scripts/keys.sql", <<'SQL');
\set a random(1, 20000)
update any_row set n = n + 1 where id = :a;
update any_row set n = n - 1 where id = :a and n % 3 = 1;
SQL
append_to_file("$scripts/undone.sql", <<'SQL');
\set a random(1, 20000)
begin;
delete from any_row where id = :a;
savepoint s;
insert into any_row values (-:a - :client_id * 100000, 1, 'undone');
rollback to s;
rollback;
SQL
append_to_file("$scripts/read.sql", <<'SQL');
begin isolation level repeatable read;
select 1 / (count(distinct a) = 1)::int from answers() a;
commit;
SQL
my @load = ('-c', 6, '-j', 2, '-f', "$scripts/replace.sql\@40", '-f', "$scripts/move.sql\@12", '-f', "$scripts/keys.sql\@8",
	'-f', "$scripts/undone.sql\@4", '-f', "$scripts/read.sql\@1");

($rc, $out, $err) = pgbench_run($node, @load, '-t', short() ? 500 : 2000);
is($rc, 0, 'load') or diag($err);
@before = blocks('any_row');
($rc, $out, $err) = pgbench_run($node, @load, '-t', short() ? 1000 : 4000);
is($rc, 0, 'more load') or diag($err);
@after = blocks('any_row');
@counted = counted('any_row');
note("any rows: @before blocks, then @after; rows removed, left: @counted");
cmp_ok($after[0], '<=', 1.3 * $before[0], 'the table does not grow with the number of transactions');
cmp_ok($after[1], '<=', 1.5 * $before[1], 'nor do its indexes');
sound('any_row', 'rows anywhere');

# ---- beside VACUUM and builds ----
sub beside
{
	my ($what, $table, $load, @statements) = @_;
	my $run = pgbench_start($node, @$load, '-T', 600);
	my $end = time() + $seconds;
	my $rounds = 0;

	while ($run->{handle}->pumpable && time() < $end)
	{
		$run->{handle}->pump_nb;
		foreach my $statement (@statements)
		{
			my ($ended, undef, $errors) = $node->psql('postgres', $statement);

			is($ended, 0, "$what: $statement") or diag($errors) if $ended;
		}
		$rounds++;
	}
	my ($rc, $out, $err) = pgbench_stop($run);
	is($rc, 0, "$what, $rounds rounds") or diag($err);
	sound($table, "$what: $table");
	return;
}

beside('VACUUM', 'any_row', \@load, 'vacuum (index_cleanup on) any_row', "select bt_index_check('any_row_n', true), bt_index_check('any_row_pkey', true)");
beside('builds', 'any_row', \@load, 'create index concurrently any_row_new on any_row (pad, id)', "select bt_index_check('any_row_new', true)",
	'reindex index concurrently any_row_note', 'reindex index any_row_n', 'drop index any_row_new', 'analyze any_row');
beside('builds', 'messages', \@turns, 'create index concurrently messages_new on messages (n, id)', "select bt_index_check('messages_new', true)",
	'reindex index concurrently messages_n', 'vacuum messages', 'drop index messages_new');

# ---- crash ----
foreach my $of ([ 'any_row', \@load ], [ 'messages', \@turns ])
{
	my ($table, $load) = @$of;
	$removed = (counted($table, 'so far'))[0] || 0;
	my $run = pgbench_start($node, @$load, '-T', 600);

	ok(wait_until(sub { $run->{handle}->pump_nb; ((counted($table, 'so far'))[0] || 0) > $removed + 300 }), "rows of $table are being removed");
	crash($node);
	pgbench_finish($run);
	start_again($node);
	sound($table, "$table after a crash");
	($rc, $out, $err) = pgbench_run($node, @$load, '-t', 500);
	is($rc, 0, 'load after a crash') or diag($err);
	sound($table, "$table and load");
}

# ---- standby ----
my $standby = new_standby($node, 'standby', 'hot_standby_feedback = off', 'max_standby_streaming_delay = 100ms');
my $run = pgbench_start($node, @load, '-T', 600);
my ($right, $cancelled) = (0, 0);
my $end = time() + $seconds;
while ($run->{handle}->pumpable && time() < $end)
{
	$run->{handle}->pump_nb;
	my ($ended, $answer, $errors) = $standby->psql('postgres', 'begin isolation level repeatable read; select count(distinct a) from answers() a; commit');
	my $conflict = $errors =~ /conflict with recovery/;

	$right++ if $answer eq '1';
	$cancelled++ if $conflict;
	is("$ended $answer $errors", '', 'a query on the standby') unless $answer eq '1' || $conflict;
}
($rc, $out, $err) = pgbench_stop($run);
is($rc, 0, "load, and on the standby $right right answers, $cancelled queries cancelled") or diag($err);
caught_up($node, $standby);
sound('any_row', 'on the standby', $standby);
sound('queue', 'the queue on the standby', $standby);

done_testing();
