# Who made a version, on a full page whose slots change hands beside an old snapshot: the one that did, not somebody after him.
# Each schedule is run on heap, too: same xmin, same rows found by a cursor or refused by a foreign key, same rows removed, no false errors.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('modifier', [ 'zheap.max_changed_indexes = 0', 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.initial_slots = 4', 'zheap.xmin = transaction' ]);
$node->safe_psql('postgres', 'create extension pageinspect');

sub sql
{
	return $node->safe_psql('postgres', join(";\n", @_));
}

# The error, if any.
sub error_of
{
	my ($rc, $out, $err) = $node->psql('postgres', $_[0]);

	return $rc == 0 ? '' : (split /\n/, $err)[0];
}

sub new_session
{
	my ($start) = @_;
	my $session = session($node);

	$session->query_safe($start) if defined $start;
	return $session;
}

# An open snapshot of which the tables know nothing.
sub snapshot
{
	my $session = new_session('begin isolation level repeatable read');

	$session->query_safe('select count(*) from pg_am');
	return $session;
}

sub end_all
{
	foreach my $session (@_)
	{
		$session->query_safe('commit');
		$session->quit;
	}
	return;
}

# A table of one page, with no room for another row nor, in zheap, for another slot.
sub full_page
{
	my ($am, $table, $more) = @_;

	sql(<<"SQL", "vacuum $table", "analyze $table");
create table $table (id int primary key, k int unique, n int, pad text, big text) using $am with (toast.autovacuum_enabled = off);
alter table $table alter big set storage external;
do \$\$
begin
	for i in 1 .. 100 loop
		insert into $table values (i, i, 0, repeat('p', 200)@{[ $more // '' ]});
		exit when exists (select from $table where ctid >= '(1,0)');
	end loop;
end \$\$;
delete from $table where ctid >= '(1,0)'
SQL
	is(sql("select pg_relation_size('$table')"), '8192', "$am: one page");
	cmp_ok(sql("select max(id) from $table"), '>=', 25, "$am: with rows enough");
	return;
}

# Transactions of one row each.
sub change
{
	my ($table, @ids) = @_;

	$node->safe_psql('postgres', join("\n", map { "update $table set n = n + 1 where id = $_;" } @ids));
	return;
}

# The same on both: heap shows that the answers are as wanted.
sub on_both
{
	my ($what, $wanted, $schedule) = @_;

	subtest $what => sub {
		my %answers = map { $_ => $schedule->($_) } qw(heap zheap);

		is_deeply($answers{heap}, $wanted, 'heap answers as expected');
		is_deeply($answers{zheap}, $answers{heap}, 'zheap as heap') or diag(explain($answers{zheap}));
	};
	return;
}

# ---- xmin ----

my %scans = (
	'seq scan' => [ 'seqscan', '' ],
	'index scan' => [ 'indexscan', 'where id between 1 and 8' ],
	'bitmap scan' => [ 'bitmapscan', 'where id between 1 and 8' ],
	'TID scan' => [ 'tidscan', "where ctid = any (array(select format('(%s,%s)', b, g)::tid from generate_series(0, 1) b, generate_series(1, 200) g))" ]);

# xmin of rows 1 to 8 by each kind of scan.
sub xmins
{
	my ($session, $table) = @_;
	my %seen;

	foreach my $scan (sort keys %scans)
	{
		my ($on, $where) = @{ $scans{$scan} };

		$session->query_safe("set enable_$_ = " . ($_ eq $on ? 'on' : 'off')) foreach qw(seqscan indexscan bitmapscan tidscan indexonlyscan);
		$seen{$scan} = $session->query_safe("select string_agg(xmin::text, ' ' order by id) from (select id, xmin from $table $where) s where id <= 8");
	}
	return \%seen;
}

# No maker may have changed, be it to another's name or to none: the old snapshot does not see them.
sub made_by
{
	my ($seen, $makers, $what) = @_;
	my $expected = join(' ', @$makers);

	foreach my $scan (sort keys %$seen)
	{
		my @xmins = split / /, $seen->{$scan};
		my @others = grep { $xmins[$_] != $makers->[$_] && $xmins[$_] != 2 } 0 .. $#$makers;

		is(scalar @others, 0, "$what, $scan: no row names a transaction that did not make it")
		  or diag(map { "row " . ($_ + 1) . ": made by $makers->[$_], xmin $xmins[$_]\n" } @others);
		is($seen->{$scan}, $expected, "$what, $scan: each names its maker");
	}
	return;
}

foreach my $am (qw(heap zheap))
{
	subtest "$am: xmin is the transaction that made the version" => sub {
		my $table = "${am}_xmin";

		full_page($am, $table);
		my $old = snapshot();
		my $reader = new_session();
		my @makers = map { sql("update $table set n = n + 1 where id = $_ returning xmin") } 1 .. 8;

		made_by(xmins($reader, $table), \@makers, 'after eight updates');
		my $then = snapshot();
		change($table, 9 .. 16);
		made_by(xmins($reader, $table), \@makers, 'rows that nobody has changed since');
		my @newer = map { sql("update $table set n = n + 1 where id = $_ returning xmin") } reverse 1 .. 8;
		made_by(xmins($reader, $table), [ reverse @newer ], 'changed again');
		made_by(xmins($then, $table), \@makers, 'a snapshot from between');

		# as optimistic writers do: what was read, and is still so, may be changed
		is(sql("update $table set n = -1 where id = 8 and xmin = '$newer[0]' returning n"), '-1', 'a row is found by its xmin');
		is($reader->query_safe("select xmin from $table where id = 7 for update"), $newer[1], 'a locked row');
		end_all($then);

		# savepoints are transactions to a page
		$reader->query_safe('begin');
		my @own = map { $reader->query_safe("savepoint s$_; update $table set n = n + 1 where id = $_ returning xmin") } 1 .. 8;
		made_by(xmins($reader, $table), \@own, 'under savepoints of one transaction');
		$reader->query_safe('commit');
		made_by(xmins($reader, $table), \@own, 'and when it has committed');
		$reader->quit;
		end_all($old);
	};
}

# ---- WHERE CURRENT OF ----

# A full page with room for one row, where an update of its key moves row 3, beside an old snapshot.
sub room_to_move
{
	my ($am, $table) = @_;

	full_page($am, $table);
	sql("delete from $table where id = 2", "vacuum $table");
	return snapshot();
}

foreach my $command ('update TABLE set n = 77 where current of c returning id, k, n', 'delete from TABLE where current of c returning id, k')
{
	my $name = (split / /, $command)[0];
	my $done = $name eq 'update' ? '3|1003|77' : '3|1003';
	my $left = $name eq 'update' ? '3|1003|77' : '';

	on_both("$name: a cursor's row that another transaction has moved", { done => $done, left => $left }, sub {
		my ($am) = @_;
		my $table = "${am}_cursor_$name";

		my $old = room_to_move($am, $table);
		my $cursor = new_session('begin');
		$cursor->query_safe("declare c cursor for select * from $table where id = 3");
		like($cursor->query_safe('fetch c'), qr/^3\|3\|0\|/, "$am: fetched");
		is(sql("update $table set k = 1003 where id = 3 returning ctid < '(1,0)'"), 't', "$am: moved");
		change($table, 10 .. 17);
		my $done = $cursor->query_safe($command =~ s/TABLE/$table/r);
		end_all($cursor, $old);
		return { done => $done, left => sql("select id, k, n from $table where id = 3") };
	});

	on_both("$name: a cursor's row that its own transaction has moved", { done => $done, left => $left }, sub {
		my ($am) = @_;
		my $table = "${am}_own_cursor_$name";

		my $old = room_to_move($am, $table);
		my $cursor = new_session('begin');
		$cursor->query_safe("declare c cursor for select * from $table where id = 3");
		$cursor->query_safe('fetch c');
		is($cursor->query_safe("update $table set k = 1003 where id = 3 returning ctid < '(1,0)'"), 't', "$am: moved");
		$cursor->query_safe("savepoint s$_; update $table set n = n + 1 where id = $_") foreach 10 .. 17;
		my $done = $cursor->query_safe($command =~ s/TABLE/$table/r);
		end_all($cursor, $old);
		return { done => $done, left => sql("select id, k, n from $table where id = 3") };
	});
}

# ---- a new foreign key ----

# Its owner may not read the referenced table, so that each row is checked by itself.
sql('create role keeper', 'grant create on schema public to keeper');
foreach my $how ('ADD', 'VALIDATE')
{
	on_both("$how: rows that refer to nothing", { refused => 1, validated => $how eq 'ADD' ? '' : 'f', left => 4 }, sub {
		my ($am) = @_;
		my $table = lc "${am}_child_$how";
		my $parent = lc "${am}_parent_$how";
		my $add = "alter table $table add constraint ${table}_fk foreign key (n) references $parent";

		sql("create table $parent (id int primary key) using $am", "insert into $parent values (1)", "grant references on $parent to keeper");
		full_page($am, $table);
		sql("update $table set n = 1 where id > 4", "alter table $table owner to keeper");
		my $old = snapshot();
		$node->safe_psql('postgres', join("\n", map { "update $table set pad = repeat('y', 200) where id = $_;" } 1 .. 16));
		sql('set role keeper', "$add not valid") if $how eq 'VALIDATE';
		my $error = error_of($how eq 'ADD' ? "set role keeper; $add" : "set role keeper; alter table $table validate constraint ${table}_fk");
		end_all($old);
		return {
			refused => $error =~ /violates foreign key constraint/ ? 1 : "not refused: '$error'",
			validated => sql("select convalidated from pg_constraint where conname = '${table}_fk'"),
			left => sql("select count(*) from $table where n = 0") };
	});
}

# The table refers to itself, so checking the first row locks another one on the page: that takes over a slot whose owner all see,
# and frees the others.  Undo is still needed for an older transaction, which is to be rolled back.
on_both('rows that refer to nothing, in a page whose slots are freed by the first check', { refused => 1, pending => 't', left => 3 }, sub {
	my ($am) = @_;
	my $table = "${am}_self";

	full_page($am, $table);
	sql("update $table set n = 20", "alter table $table owner to keeper", "revoke select on $table from keeper", "grant select (id) on $table to keeper");
	sql("create table if not exists zheap_pending (id int, pad text) using zheap", "insert into zheap_pending select g, repeat('b', 900) from generate_series(1, 6000) g");
	sql("vacuum $table");
	my $older = new_session('begin');
	$older->query_safe("update zheap_pending set pad = repeat('c', 900)");
	$node->safe_psql('postgres', join("\n", "update $table set pad = repeat('y', 200) where id = 1;", map { "update $table set n = 0 where id = $_;" } 2 .. 4));
	$older->query_safe('rollback');
	$older->quit;
	my $pending = sql('select zheap.zheap_undo_pending() > 0');
	my $error = error_of("set role keeper; alter table $table add foreign key (n) references $table");
	return {
		refused => $error =~ /violates foreign key constraint/ ? 1 : "not refused: '$error'",
		pending => $pending,
		left => sql("select count(*) from $table where n = 0") };
});

# ---- VACUUM while snapshots overlap ----

on_both('VACUUM, while the page is written and snapshots overlap: rows deleted before all of them',
	{ before => 5, rounds => '0 0 0' }, sub {
		my ($am) = @_;
		my $table = "${am}_vacuum";
		# index entries of the deleted rows
		my $entries = "select count(*) from bt_page_items('${table}_pkey', 1) where data ~ '^0[1-5] 00 00 00'";
		my @rounds;

		full_page($am, $table);
		my $open = snapshot();
		sql("delete from $table where id <= 5", "vacuum (index_cleanup on) $table");
		my $before = sql($entries);
		for my $round (1 .. 3)
		{
			change($table, 10 .. 14);
			my $next = snapshot();
			change($table, 10 .. 14);
			end_all($open);
			$open = $next;
			sql("vacuum (index_cleanup on) $table");
			push @rounds, sql($entries);
		}
		end_all($open);
		sql("vacuum (index_cleanup on) $table");
		is(sql($entries), '0', "$am: removed when no snapshot is open");
		return { before => $before, rounds => "@rounds" };
	});

# ---- old versions whose undo or whose toasted values have gone ----

# Deleted rows that made room for others, whose remains are in undo that is used again.  A transaction has taken their slot over
# that is not yet seen by the snapshot that is returned; they were deleted long before.
sub stripped_rows
{
	my ($am, $table) = @_;

	full_page($am, $table);
	my $inserter = new_session("create table if not exists ${am}_much (id int, a int, pad text) using $am");
	$inserter->query_safe("truncate ${am}_much; insert into ${am}_much select g, 0, repeat('b', 900) from generate_series(1, 6000) g");
	sql('vacuum zheap.undo');
	my $old = snapshot();
	sql("delete from $table where id <= 5");
	is($inserter->query_safe("insert into $table select g, g, 1, repeat('i', 200) from generate_series(101, 103) g returning ctid < '(1,0)'"),
		"t\nt\nt", 'deleted rows make room') if $am eq 'zheap';
	# its undo goes on elsewhere
	$inserter->query_safe("update ${am}_much set a = a + 1, pad = repeat(chr(97 + a % 20), 900) where id <= 1000") foreach 1 .. 3;
	change($table, 10, 11);
	my $taker = new_session('begin');
	$taker->query_safe("update $table set n = 1 where id = 12");
	my $new = snapshot();
	end_all($taker, $old);
	sql('vacuum zheap.undo');
	foreach (1 .. 3)
	{
		sql("update ${am}_much set a = a + 1, pad = repeat(chr(97 + a % 20), 900)");
		sql('vacuum zheap.undo');
	}
	$inserter->quit;
	return $new;
}

my %asks = (
	'the planner looks for the least key' => 'explain select * from TABLE where id < 1',
	'the planner looks at a merge join' => 'set enable_hashjoin = off; set enable_nestloop = off; explain select * from TABLE a join TABLE b on a.id = b.id where a.id < 3',
	'CREATE INDEX' => 'create index TABLE_n on TABLE (n)',
	'CREATE UNIQUE INDEX' => 'create unique index on TABLE (id)');
foreach my $am (qw(heap zheap))
{
	subtest "$am: undo of deleted rows is used again" => sub {
		my $table = "${am}_stripped";
		my $new = stripped_rows($am, $table);
		my $count = $new->query_safe("select count(*) from $table");

		is(error_of($asks{$_} =~ s/TABLE/$table/gr), '', $_) foreach sort keys %asks;
		is($new->query_safe("select count(*) from $table"), $count, 'the snapshot sees what it saw');
		# planned anew
		is(scalar $new->query("set enable_seqscan = off; set enable_bitmapscan = off; select count(*) from $table where id > 0"), $count, 'by an index, too');
		$new->{stderr} = '';
		end_all($new);
		is(error_of("vacuum $table"), '', 'VACUUM');
	};
}

my %builds = (
	'hash index' => 'create index on TABLE using hash (big)',
	'btree index' => 'create index on TABLE (left(big, 10))');
foreach my $am (qw(heap zheap))
{
	subtest "$am: toasted values of old versions are removed" => sub {
		my $table = "${am}_toasted";

		full_page($am, $table, ", repeat('B', 5000)");
		sql('vacuum zheap.undo');
		my $old = snapshot();
		sql("update $table set big = repeat('C', 5000) where id = 1");
		change($table, 10 .. 12);
		my $taker = new_session('begin');
		$taker->query_safe("update $table set n = 1 where id = 13");
		my $new = snapshot();
		end_all($taker, $old);
		sql('vacuum ' . sql("select reltoastrelid::regclass from pg_class where oid = '$table'::regclass"));
		is(error_of($builds{$_} =~ s/TABLE/$table/r), '', "CREATE INDEX: $_") foreach sort keys %builds;
		is($new->query_safe("select left(big, 1) from $table where id = 1"), 'C', 'the snapshot sees the new value');
		end_all($new);
	};
}

$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
