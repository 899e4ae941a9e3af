# A hundred thousand plpgsql exception blocks over the rows of one page, in one transaction: blocks in the last quarter take about as long as in the first.
# Blocks that are kept and that are undone, with row locks, updates, inserts and AFTER ROW triggers; totals are computed beside the table.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

plan(skip_all => 'the kernel does not tell what time a process has run') if !-r '/proc/self/schedstat';

# Of a part of the rounds the processor time is taken, of each quarter's parts the least: a busy machine makes many parts slower, but hardly all.
# If each round went through all rounds before, the 31st of 40 parts would take 61 times as long as the first.
my $most = 6;
# Triggers make a row move each 29th time: in the end index scans pass by some 70 entries of rows that it has left.
my $most_moving = 15;
my $rounds = short() ? 20_000 : 100_000;
my $node = new_server('loop', [ 'shared_buffers = 64MB', 'autovacuum = off' ]);

$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, n int, v text) using zheap;
create table fired (n bigint);
create function fire() returns trigger language plpgsql as $$
begin
	if new.n is distinct from old.n + 1 then raise exception 'OLD % NEW %', old, new using errcode = 'XX001'; end if;
	return null;
end $$;
create function undo() returns void language plpgsql as $$ begin raise exception 'undo' using errcode = 'P0099'; end $$;

-- processor time that this backend has used, in nanoseconds; the kernel brings it up to date when the process sleeps
create function used() returns bigint language sql volatile as $$
	select pg_sleep(0.001);
	select split_part(pg_read_file('/proc/' || pg_backend_pid() || '/schedstat', 0, 100), ' ', 1)::bigint $$;

-- the body of a block, run rounds times; returns the last quarter's processor time for a part over the first's
create procedure loop(rounds int, body text, inout ratio numeric) language plpgsql as $$
declare
	began bigint;
	quarter bigint[];
	parts constant int := 10;
	part constant int := rounds / 4 / parts;
	r int := 0;
begin
	execute format($q$
		create or replace procedure round(from_r int, to_r int) language plpgsql as $b$
		declare k int; x int;
		begin
			for i in from_r .. to_r loop
				k := i %% 50 + 1;
				begin
					%s
				exception when sqlstate 'P0099' or unique_violation then
					null;
				end;
			end loop;
		end $b$ $q$, body);
	for q in 1 .. 4 loop
		for p in 1 .. parts loop
			began := used();
			call round(r + 1, r + part);
			r := r + part;
			quarter[q] := least(quarter[q], used() - began);
		end loop;
	end loop;
	ratio := round(quarter[4]::numeric / quarter[1], 2);
end $$;
SQL

sub try
{
	my ($what, $body, $sum, $setup) = @_;
	my $bound = $what =~ /trigger|deferred/ ? $most_moving : $most;

	$node->safe_psql('postgres', 'truncate t; insert into t select g, 0, $$v$$ from generate_series(1, 50) g;' . ($setup // ''));
	my $ratio = $node->safe_psql('postgres', "call loop($rounds, \$body\$$body\$body\$, null)");
	diag("$what: last quarter / first quarter = $ratio");
	cmp_ok($ratio, '<', $bound, "$what: does not get slower");
	is($node->safe_psql('postgres', 'select count(*), sum(n) from t'), "50|$sum", "$what: rows are right");
	is($node->safe_psql('postgres', 'set enable_seqscan = off; select count(*), sum(n) from t where id > 0'),
		"50|$sum", "$what: also by the index");
	return;
}

try('updates', 'update t set n = n + 1 where id = k;', $rounds);
try('undone updates', 'update t set n = n + 1 where id = k; perform undo();', 0);
try('half undone', 'update t set n = n + 1 where id = k; if i % 2 = 0 then perform undo(); end if;', $rounds / 2);
try('locked, then updated', 'perform from t where id = k for update; update t set n = n + 1 where id = k;', $rounds);
try('locked in a weaker mode, another row updated', 'perform from t where id = k for key share; update t set n = n + 1 where id = 51 - k;', $rounds);
try('undone locks', 'perform from t where id = k for update; perform undo();', 0);
try('read after each', 'update t set n = n + 1 where id = k; select n into x from t where id = k;', $rounds);
try('duplicate keys', 'update t set n = n + 1 where id = k; insert into t values (k, 1, null);', 0);
try('one row only', 'update t set n = n + 1 where id = 7;', $rounds);
try('deleted and undone', 'delete from t where id = k; perform undo();', 0);
try('with an AFTER ROW trigger', 'update t set n = n + 1 where id = k;', $rounds,
	'create trigger a after update on t for each row execute function fire();');
try('with an AFTER ROW trigger, two of three undone', 'update t set n = n + 1 where id = k; if i % 3 > 0 then perform undo(); end if;', int($rounds / 3));
try('with a deferred one, too', 'update t set n = n + 1 where id = k;', $rounds,
	'create constraint trigger b after update on t deferrable initially deferred for each row execute function fire();');

no_crash_in_log($node, 'in the end');
$node->stop;
done_testing();
