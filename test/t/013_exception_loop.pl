# A hundred thousand plpgsql exception blocks over the rows of one page, in one transaction: the last quarter takes about as long as the first.
# Blocks that are kept and that are undone, with row locks, updates, inserts and AFTER ROW triggers; totals are computed beside the table.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

# a quadratic loop's last quarter takes 7 times as long as its first
my $most = 4;
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

-- processor time this backend has used, in 1/100 s; a stalled disk or a busy machine does not count
create function used() returns numeric language sql volatile as $$
	select f[12]::numeric + f[13]::numeric from string_to_array(split_part(pg_read_file('/proc/' || pg_backend_pid() || '/stat'), ') ', 2), ' ') f $$;

-- the body of a block, run rounds times; returns last quarter's processor time over the first's
create procedure loop(rounds int, body text, inout ratio numeric) language plpgsql as $$
declare
	began numeric;
	quarter numeric[] := '{}';
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
		began := used();
		call round(r + 1, r + rounds / 4);
		r := r + rounds / 4;
		quarter := quarter || (used() - began);
	end loop;
	ratio := round(quarter[4] / greatest(quarter[1], 1), 2);
end $$;
SQL

sub try
{
	my ($what, $body, $sum, $setup) = @_;

	$node->safe_psql('postgres', 'truncate t; insert into t select g, 0, $$v$$ from generate_series(1, 50) g;' . ($setup // ''));
	my $ratio = $node->safe_psql('postgres', "call loop($rounds, \$body\$$body\$body\$, null)");
	diag("$what: last quarter / first quarter = $ratio");
	cmp_ok($ratio, '<', $most, "$what: does not get slower");
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
# moves the row each 29th time, so that index scans meet a few more dead entries in the end
try('with an AFTER ROW trigger', 'update t set n = n + 1 where id = k;', $rounds,
	'create trigger a after update on t for each row execute function fire();');
try('with an AFTER ROW trigger, two of three undone', 'update t set n = n + 1 where id = k; if i % 3 > 0 then perform undo(); end if;', int($rounds / 3));
try('with a deferred one, too', 'update t set n = n + 1 where id = k;', $rounds,
	'create constraint trigger b after update on t deferrable initially deferred for each row execute function fire();');

no_crash_in_log($node, 'in the end');
$node->stop;
done_testing();
