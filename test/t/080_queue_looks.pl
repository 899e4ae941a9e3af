# A queue beside an old snapshot, turn after turn: no look for its first message walks over more than a few of those that are gone.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('looks', ['shared_buffers = 64MB', 'autovacuum = off', 'zheap.skip_dead_entries = on', 'enable_seqscan = off', 'enable_bitmapscan = off']);
my $turns = short() ? 3000 : 8000;

$node->safe_psql('postgres', <<'SQL');
create table q (id bigint generated always as identity primary key, vt timestamptz not null, message text) using zheap;
create index q_vt on q (vt);
insert into q (vt, message) select clock_timestamp(), 'm' from generate_series(1, 100);
-- pages that the look for the first message reads
create function look() returns int language plpgsql as $$
declare plan json;
begin
	execute 'explain (analyze, buffers, format json) select id from q where vt <= clock_timestamp() order by id limit 1 for update skip locked' into plan;
	return (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
end $$;
-- takes n messages, each in a transaction of its own; tells the dearest look
create procedure take(n int, inout most int) language plpgsql as $$
declare
	taken bigint;
	cost int;
begin
	most := 0;
	for i in 1 .. n loop
		insert into q (vt, message) values (clock_timestamp(), 'm');
		commit;
		cost := look();
		most := greatest(most, cost);
		select id into taken from q where vt <= clock_timestamp() order by id limit 1 for update skip locked;
		update q set vt = clock_timestamp() + interval '30 seconds' where id = taken;
		commit;
		delete from q where id = taken;
		commit;
	end loop;
end $$;
SQL

my $old = session($node);
$old->query_safe('begin isolation level repeatable read; select count(*) from q');
# each round has more dead messages behind it than the one before
my @most = map { $node->safe_psql('postgres', "call take($turns / 4, 0)") } 1 .. 4;
note("pages of the dearest look, by quarters: @most");
cmp_ok($_, '<', 300, 'no look is dear') foreach @most;
# several at once: their snapshots are of different ages, and none is to keep the others from telling of what is gone by now
my $turn = PostgreSQL::Test::Utils::tempdir() . '/turn.sql';
append_to_file($turn, <<'SQL');
\set id 0
insert into q (vt, message) values (clock_timestamp(), 'm');
with next as (select id from q where vt <= clock_timestamp() order by id limit 1 for update skip locked)
	update q set vt = clock_timestamp() + interval '30 seconds' from next where q.id = next.id returning q.id as id \aset
delete from q where id = :id;
SQL
foreach my $round (1 .. 4)
{
	pgbench_run($node, '-c', 8, '-t', $turns / 16, '-M', 'prepared', '-f', $turn);
	my @looks = map { $node->safe_psql('postgres', 'select look()') } 1 .. 3;
	note("pages of looks after round $round: @looks");
	cmp_ok($looks[0], '<', 600, 'no look is dear after many at once');
}
is($old->query_safe('select count(*) from q; commit'), 100, 'the old snapshot sees its messages');
cmp_ok($node->safe_psql('postgres', 'select count(*) from q'), '>=', 100, 'as many wait as at first');
$old->quit;
# all that it had needed is dead to all now, and is still there until VACUUM comes
my $ended = $node->safe_psql('postgres', "call take($turns / 4, 0)");
note("pages of the dearest look after the snapshot's end: $ended");
cmp_ok($ended, '<', 300, 'no look is dear when the old snapshot has ended');
$node->safe_psql('postgres', 'vacuum q');
my $vacuumed = $node->safe_psql('postgres', "call take($turns / 40, 0)");
note("pages of the dearest look after VACUUM: $vacuumed");
cmp_ok($vacuumed, '<', 60, 'nor after VACUUM');

# Rows that an old snapshot needs, one by one: that they are needed the page tells, without a way to whoever deleted them.
$node->safe_psql('postgres', <<'SQL');
create table deleted (id int primary key, n int) using zheap;
insert into deleted select g, 0 from generate_series(1, 200) g;
create table others (id int, pad text) using zheap;
insert into others select g, repeat('p', 100) from generate_series(1, 60) g;
create procedure delete_each() language plpgsql as $$
begin
	for i in 1 .. 200 loop
		delete from deleted where id = i;
		-- the next one's undo is on another page
		update others set pad = repeat(chr(97 + i % 26), 100);
		commit;
	end loop;
end $$;
SQL
$old = session($node);
$old->query_safe('begin isolation level repeatable read; select count(*) from deleted');
$node->safe_psql('postgres', 'call delete_each()');
# with ranges looked for it is asked as well whether they are gone for all later snapshots
foreach my $setting ('off', 'on')
{
	my $plan = $node->safe_psql('postgres', "set zheap.skip_dead_entries = $setting; explain (analyze, buffers, costs off, timing off, summary off) select n from deleted where id > 0");
	my ($pages) = $plan =~ /Buffers: shared hit=(\d+)/;
	note($plan);
	cmp_ok($pages, '<', 60, "a scan over 200 of them reads none of the pages that tell by whom: ranges $setting");
}
is($old->query_safe('select count(*) from deleted; commit'), 200, 'and the old snapshot sees them');
$old->quit;
$node->stop;
done_testing();
