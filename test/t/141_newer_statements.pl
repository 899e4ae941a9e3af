# Statements that fetch rows by TID again, and that only newer servers have: the results on a heap table and on a zheap table are the same.
# 18: RETURNING OLD; 19: INSERT ... ON CONFLICT DO SELECT.  And amcheck.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('main', ['autovacuum = off']);
my $major = int($node->safe_psql('postgres', 'show server_version_num') / 10000);
plan skip_all => 'there are none before PostgreSQL 18' if $major < 18;

my @methods = qw(heap zheap);

# ---- RETURNING OLD of rows that move to another partition ----

foreach my $triggers ('', 'after update', 'after update or delete', 'before update')
{
	my @answers;

	foreach my $am (@methods)
	{
		my $sql = <<"SQL";
set default_table_access_method = $am;
create temp table root (id int, part int, note text) partition by list (part);
create temp table one partition of root for values in (1);
create temp table two partition of root for values in (2);
insert into root values (1, 1, 'a'), (2, 1, 'b');
create function pg_temp.say() returns trigger language plpgsql as \$\$
begin
	raise info '% % % %', tg_op, tg_table_name, old, new;
	return new;
end\$\$;
SQL
		$sql .= "create trigger say $triggers on root for each row execute function pg_temp.say();\n" if $triggers;
		$sql .= <<'SQL';
update root set part = 2, note = note || 'x' where id = 1 returning old.tableoid::regclass, old.ctid, old, new.tableoid::regclass, new.ctid, new;
begin;
update root set note = note || 'y' where id = 2;
update root set part = 2 where id = 2 returning old.tableoid::regclass, old.ctid = '(0,2)' or old.ctid = '(0,3)', old, new;
commit;
select tableoid::regclass, * from root order by id;
SQL
		my ($code, $out, $err) = $node->psql('postgres', $sql);

		push @answers, "$code\n$out\n$err";
	}
	like($answers[0], qr/^0\n/, "RETURNING OLD, trigger '$triggers': done");
	is($answers[1], $answers[0], "RETURNING OLD, trigger '$triggers': the same");
}

# ---- ON CONFLICT DO SELECT ----

SKIP:
{
	skip 'ON CONFLICT DO SELECT is of PostgreSQL 19', 1 if $major < 19;

	# A session does "before" in a transaction, another one "insert", for which it may have to wait; the first one commits.
	my @cases = (
		[ "update t set note = 'new' where id = 1", "insert into t values (1, 'x') on conflict (id) do select returning *" ],
		[ "update t set note = repeat('new', 1000) where id = 1", "insert into t values (1, 'x') on conflict (id) do select returning id, length(note)" ],
		[ "update t set note = 'new' where id = 1", "insert into t values (1, 'x') on conflict (id) do select where t.note = 'new' returning *" ],
		[ "update t set note = 'new' where id = 1", "insert into t values (1, 'x') on conflict (id) do select for update returning *" ],
		[ "update t set note = 'new' where id = 1", "insert into t values (1, 'x') on conflict (id) do select for key share returning *" ],
		[ 'delete from t where id = 1', "insert into t values (1, 'x') on conflict (id) do select returning *" ],
		[ "insert into t values (2, 'new')", "insert into t values (2, 'x') on conflict (id) do select returning *" ],
		[ 'select', "with u as (update t set note = 'new' where id = 1 returning id) insert into t select id, 'x' from u on conflict (id) do select returning *" ],
		[ 'select', "insert into t values (3, 'x'), (3, 'y') on conflict (id) do select returning *" ],
		[ 'select', "insert into t values (3, 'x'), (3, 'y') on conflict (id) do select for update returning *" ]);

	foreach my $isolation ('read committed', 'repeatable read')
	{
		foreach my $case (@cases)
		{
			my ($before, $insert) = @$case;
			my @answers;

			foreach my $am (@methods)
			{
				my ($one, $two) = (session($node), session($node));

				$node->safe_psql('postgres', "drop table if exists t; create table t (id int primary key, note text) using $am; insert into t values (1, 'old')");
				$one->query_safe("begin; $before");
				$two->query_safe("begin isolation level $isolation; select 1 from t");
				begin_in($two, $insert);
				wait_until(sub { ended($two) || $node->safe_psql('postgres', "select count(*) from pg_stat_activity where pid = $two->{pid} and wait_event_type = 'Lock'") > 0 }) or die;
				$one->query_safe('commit');
				wait_until(sub { ended($two) }) or die "does not end: $insert";
				my $answer = "$two->{answer}\n";

				$answer .= answer_in($two, 'commit') . "\n";
				push @answers, $answer . $node->safe_psql('postgres', 'select id, left(note, 5) from t order by id');
				$_->quit foreach $one, $two;
			}
			is($answers[1], $answers[0], "$isolation: $before; $insert");
			note($answers[0]);
		}
	}
}

# ---- amcheck searches for duplicate keys, by fetching rows by TID (17) ----

$node->safe_psql('postgres', <<'SQL');
create extension amcheck;
create table u (id int primary key, n int unique, note text) using zheap;
insert into u select g, g, 'x' from generate_series(1, 500) g;
begin;
update u set n = n + 1000 where id % 3 = 0;
update u set n = n - 1000 where id % 3 = 0;
update u set n = -n where id % 5 = 0;
rollback;
update u set n = -n where id % 2 = 0;
update u set n = -n where id % 4 = 0;
update u set note = 'in place';
delete from u where id % 7 = 0;
insert into u select g, g, 'again' from generate_series(7, 500, 28) g;
SQL
is($node->safe_psql('postgres', "select count(bt_index_check(indexrelid, true, true)::text) from pg_index where indrelid = 'u'::regclass"), '2', 'amcheck finds no key twice');

$node->stop;
done_testing();
