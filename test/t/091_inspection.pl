# What the functions that look inside say is what must be: of rows changed, moved, locked and rolled back in several sessions, of slots on
# overflow and lock pages, below old snapshots, on a standby; damaged pages give an error that says so, or are shown, and never a crash.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

# nobody but the statements below rolls back or frees anything
my $node = new_server('inspected',
	[ 'autovacuum = off', 'zheap.undo_workers = 0', 'zheap.initial_slots = 4', 'max_prepared_transactions = 100', 'full_page_writes = on' ],
	allows_streaming => 1, checksums => 0);

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

# The error that a statement ends with, with its SQLSTATE.
sub told
{
	my ($server, $sql) = @_;
	my ($rc, $out, $err) = $server->psql('postgres', "\\set VERBOSITY verbose\n$sql");

	return $rc == 0 ? "no error: $out" : $err;
}

# The versions of the row at a TID: one line each, with transactions by the names that they were given.
my %names;
sub chain
{
	my ($server, $table, $tid) = @_;
	my $lines = $server->safe_psql('postgres',
		"select coalesce(xid::text, '-'), coalesce(operation, '-'), status, case when undo is null then 'page' else 'undo' end, convert_from(substr(row_bytes, length(row_bytes)), 'latin1') "
		  . "from zheap.zheap_undo_chain('$table', '$tid') order by version");

	$lines =~ s/^(\d+)\|/($names{$1} \/\/ 'other') . '|'/gme;
	return $lines;
}

sub xid_of
{
	my ($session, $name) = @_;

	$names{ $session->query_safe('select pg_current_xact_id()') } = $name;
	return;
}

# ---- 1. versions: an old snapshot keeps them all ----

# the last byte of a row is a letter
ask("create table t (id int, v text) using zheap; insert into t select g, 'a' from generate_series(1, 6) g; create table clock (n int) using zheap");
my $old = session($node);
$old->query_safe('begin isolation level repeatable read; select count(*) from t');
my ($one, $two, $three) = map { session($node) } 1 .. 3;
foreach my $letter (qw(b c d))
{
	$one->query_safe('begin');
	xid_of($one, "T$letter");
	$one->query_safe("update t set v = '$letter' where id = 1; commit");
}
is(chain($node, 't', '(0,1)') =~ s/^(?:other\|insert\|committed|-\|-\|visible to all)/bottom/mr, <<'END' =~ s/\n\z//r, 'versions of transactions that have committed');
Td|update|committed|page|d
Tc|update|committed|undo|c
Tb|update|committed|undo|b
bottom|undo|a
END
is($old->query_safe('select v from t where id = 1'), 'a', 'the old snapshot sees the last one');

# in progress, with savepoints, one of them rolled back
$one->query_safe('begin');
xid_of($one, 'top');
$one->query_safe("update t set v = 'e' where id = 1; savepoint a; update t set v = 'f' where id = 1; savepoint b; update t set v = 'g' where id = 1; rollback to b");
my @lines = split /\n/, chain($node, 't', '(0,1)');
is_deeply([ map { s/^\w+\|//r } @lines[ 0 .. 2 ] ],
	[ 'update|aborted|page|g', 'update|in progress|undo|f', 'update|in progress|undo|e' ],
	'savepoints: rolled back, and going on');
like($lines[2], qr/^top\|/, 'the part before the savepoint is the transaction itself');
is(ask("select count(distinct xid) from zheap.zheap_undo_chain('t', '(0,1)') where status <> 'visible to all'"), '6', 'each part has an id of its own');
$one->query_safe('rollback');
is((split /\n/, chain($node, 't', '(0,1)'))[2], 'top|update|aborted|undo|e', 'all is aborted now');
ask('vacuum t');
like(chain($node, 't', '(0,1)'), qr/^Td\|update\|committed\|page\|d$/m, 'and rolled back on the page');
is(ask("select count(*) from zheap.zheap_undo_chain('t', '(0,1)') where status = 'aborted'"), '0', 'nothing is left of it');

# deleted, deleted again after a rollback, inserted in the same transaction
$two->query_safe('begin');
xid_of($two, 'D');
$two->query_safe("delete from t where id = 3; insert into t values (7, 'i'); update t set v = 'j' where id = 7");
is((split /\n/, chain($node, 't', '(0,3)'))[0], 'D|delete|in progress|page|a', 'deleted');
is(chain($node, 't', '(0,7)'), "D|update|in progress|page|j\nD|insert|in progress|undo|i", 'inserted and updated');
$two->query_safe('rollback');
is((split /\n/, chain($node, 't', '(0,7)'))[1], 'D|insert|aborted|undo|i', 'an insertion that was rolled back');
ask('vacuum t');
like(told($node, "select zheap.zheap_undo_chain('t', '(0,7)')"), qr/ERROR:  (?:02000: there is no row at tid \(0,7\) of relation "t"\nDETAIL:  The line pointer is |22023)/, 'and is gone');

# locks make no versions; the row's hint tells, and a record
$two->query_safe('begin; select id from t where id = 4 for share');
is(ask("select lock_hint from zheap.zheap_page_items('t', 0) where lp = 4"), 'FOR SHARE', 'hint of a lock');
is(ask("select count(*) from zheap.zheap_undo_chain('t', '(0,4)')"), '1', 'a lock is no version');
is(ask("select r.kind, r.lock_mode, r.lp, r.relation from zheap.zheap_page_slots('t', 0) s, zheap.zheap_undo_records(split_part(s.undo, '/', 1)::bigint) r where s.status = 'in progress' and r.undo = s.undo"),
	'lock|FOR SHARE|4|t', 'the record of the lock');
$two->query_safe('commit');

# moved: the old place names the new one
ask("create table m (id int primary key, v text) using zheap; insert into m select g, repeat('m', 1000) || 'a' from generate_series(1, 7) g");
ask("update m set v = repeat('m', 1990) || 'b' where id = 2");
my $moved = ask('select ctid from m where id = 2');
isnt($moved, '(0,2)', 'the row has moved');
like(chain($node, 'm', '(0,2)'), qr/\A\w+\|move\|committed\|page\|a$/m, 'what is left');
is(ask("select r.new_tid from zheap.zheap_page_items('m', 0) i join zheap.zheap_page_slots('m', 0) s on s.slot = i.slot, zheap.zheap_undo_records(split_part(s.undo, '/', 1)::bigint) r where i.lp = 2 and r.undo = s.undo"),
	$moved, 'where it went');
is(ask("select flags @> '{deleted,moved}' from zheap.zheap_page_items('m', 0) where lp = 2"), 't', 'flags');

# beside a lock of a key: the row carries where it was
ask('create table k (id int primary key, v text) using zheap; insert into k select g, repeat(\'k\', 1000) from generate_series(1, 7) g');
$two->query_safe('begin; select id from k where id = 2 for key share');
ask("update k set v = repeat('k', 1990) where id = 2");
my ($block, $lp) = ask('select ctid from k where id = 2') =~ /\((\d+),(\d+)\)/;
is(ask("select origins from zheap.zheap_page_items('k', $block) where lp = $lp"), '{"(0,2)"}', 'origins of a row that moved beside a lock');
$two->query_safe('commit');

# a long chain can be cancelled, and is right to its end
ask("create table hot (n int) using zheap; insert into hot values (0)");
$old->query_safe('rollback; begin isolation level repeatable read; select n from hot');
ask("do \$\$ begin for i in 1 .. 3000 loop update hot set n = i; commit; end loop; end \$\$");
is(ask("select count(*), count(*) filter (where get_byte(row_bytes, 5) + 256 * get_byte(row_bytes, 6) = 3001 - version), count(distinct undo) from zheap.zheap_undo_chain('hot', '(0,1)')"),
	'3001|3001|3000', 'a chain with directories and waypoints');
is(ask("select count(*) from zheap.zheap_undo_chain('hot', '(0,1)') where turn <> (3001 - version) % 32"), '0', 'turns');
like(told($node, "set statement_timeout = 1; select count(*) from generate_series(1, 100000), lateral zheap.zheap_undo_chain('hot', '(0,1)')"), qr/ERROR:  57014/, 'cancelled');
# a body in undo
ask("create table tomb (id int, v text) using zheap; insert into tomb select g, repeat('t', 700) || 'z' from generate_series(1, 10) g");
$old->query_safe('rollback; begin isolation level repeatable read; select count(*) from tomb');
ask('delete from tomb where id <= 4');
ask("update tomb set v = repeat('u', 1500) || 'y' where id = $_") foreach 5 .. 7;
my $tomb = ask("select min(lp) from zheap.zheap_page_items('tomb', 0) where flags @> '{tombstone}' and lp_len = 13 and body is not null");
is(chain($node, 'tomb', "(0,$tomb)") =~ s/^other\|delete\|committed\|page\|z\n-?.*\|undo\|z\z/right/r, 'right', 'a row whose body lies in undo');
is(ask("select max(length) from zheap.zheap_undo_chain('tomb', '(0,$tomb)')"), '714', 'has all its bytes');
is(ask("select r.kind, r.lp from zheap.zheap_page_items('tomb', 0) i, zheap.zheap_undo_records(split_part(i.body, '/', 1)::bigint) r where i.lp = $tomb and r.undo = i.body"), "tombstone|$tomb", 'the record of the body');
$old->query_safe('rollback');

# ---- 2. slots: grown, on an overflow page, on a lock page ----

ask("create table s (id int primary key, n int) using zheap with (fillfactor = 50); insert into s select g, 0 from generate_series(1, 100) g");
is(ask("select slots, overflow_block from zheap.zheap_page_header('s', 0)"), '4|', 'slots of a new page');
for my $i (1 .. 40)
{
	ask("begin; update s set n = $i where id = $i; prepare transaction 's$i'");
}
my $own = $node->background_psql('postgres');
my ($slots, $overflow) = split /\|/, ask("select slots, overflow_block from zheap.zheap_page_header('s', 0)");
cmp_ok($slots, '>', 4, 'the page has grown');
cmp_ok($overflow, '>', 0, 'and has an overflow page');
is(ask("select kind, slots, table_block, lock_pages, damage from zheap.zheap_page_header('s', $overflow)"), 'overflow|480|0|{}|', 'which is one');
is(ask("select count(*), count(distinct xid), count(distinct undo) from zheap.zheap_page_slots('s', 0) where status = 'in progress'"), '40|40|40', 'a slot for each');
is(ask("select count(*) from zheap.zheap_page_slots('s', 0) s join pg_prepared_xacts p on p.transaction = s.xid::text::xid where status = 'in progress'"), '40', 'their owners are the prepared transactions');
is(ask("select place, count(*), min(slot), max(slot), string_agg(distinct slot_block::text, ',') from zheap.zheap_page_slots('s', 0) group by place order by place desc"),
	"page|$slots|1|$slots|0\noverflow|480|32|511|$overflow", 'places of slots');
is(ask("select count(*) from zheap.zheap_page_items('s', 0) i join zheap.zheap_page_slots('s', 0) p on p.slot = i.slot where i.slot > 0 and p.status = 'in progress'"), '40', 'rows name them');
is(ask("select count(*) from zheap.zheap_page_items('s', 0) i, lateral zheap.zheap_undo_chain('s', ('(0,' || i.lp || ')')::tid) c join zheap.zheap_page_slots('s', 0) p on p.xid = c.xid where c.version = 1 and c.operation = 'update' and p.slot = i.slot"),
	'40', 'and the versions are of their owners');
like(told($node, "select zheap.zheap_page_items('s', $overflow)"), qr/ERROR:  55000: block $overflow of table "s" is not a page of rows\nDETAIL:  It has more transaction slots of block 0\.\nHINT:  Use zheap\.zheap_page_slots\(\) with block 0 /, 'no rows there');
like(told($node, "select zheap.zheap_page_slots('s', $overflow)"), qr/ERROR:  55000: .*not a page of rows/, 'nor slots of its own');
like(told($node, "select zheap.zheap_undo_chain('s', '($overflow,1)')"), qr/ERROR:  55000: .*not a page of rows/, 'nor versions');
ask("commit prepared 's$_'") foreach 1 .. 20;
ask("rollback prepared 's$_'") foreach 21 .. 40;
is(ask("select count(*) filter (where status in ('committed', 'visible to all')) >= 20, count(*) filter (where status = 'aborted') from zheap.zheap_page_slots('s', 0) where xid is not null"), 't|20', 'what became of them');
ask('vacuum s');
is(ask("select count(*) from zheap.zheap_page_slots('s', 0) where status = 'aborted'"), '0', 'rolled back');

# transactions that only lock, where rows can name no more slots for them (ZPAGE_MAX_SHARED_SLOTNO): 189 on the overflow page
ask("create table l (id int primary key) using zheap; insert into l values (1)");
my $lockers = session($node);
$lockers->query_safe('begin; select 1 from l for share');
is(ask("select count(*), min(place) from zheap.zheap_page_slots('l', 0) where status = 'in progress'"), '1|page', 'a locker on the page');
$lockers->query_safe('commit');

# ---- 3. everything, all at once: nothing contradicts itself ----

my $everything = <<'SQL';
select count(*) from (values ('t'), ('m'), ('k'), ('hot'), ('tomb'), ('s'), ('l')) as tables (name),
	lateral generate_series(0, pg_relation_size(name::regclass) / 8192 - 1) block,
	lateral zheap.zheap_page_header(name::regclass, block) h
	where damage is not null or kind = 'unknown' or kind = 'table' and
		(select count(*) from zheap.zheap_page_items(name::regclass, block) where damage is not null) > 0
SQL
is(ask($everything), '0', 'no damage is told of');
is(ask("select count(*) from generate_series(32, pg_relation_size('zheap.undo') / 8192 - 1) block where block % 32 = 0 and (select count(*) from zheap.zheap_undo_records(block) where damage is not null) > 0"), '0', 'nor of undo');

# VACUUM marks pages
ask('create table v (id int) using zheap; insert into v select g from generate_series(1, 100) g');
ask('insert into clock values (1)') for 1 .. 3;
ask('vacuum v');
is(ask("select all_visible, in_map, flags from zheap.zheap_page_header('v', 0)"), 't|t|{all_visible}', 'marked all-visible');
is(ask("select count(*), min(status) in ('visible to all', 'committed') from zheap.zheap_undo_chain('v', '(0,1)')"), '1|t', 'a row that all see');
ask('delete from v where id = 1');
is(ask("select all_visible, in_map from zheap.zheap_page_header('v', 0)"), 'f|f', 'not any more');

# ---- 4. others' tables, and a standby ----

$one->query_safe('create temporary table theirs (id int) using zheap; insert into theirs values (1)');
my $theirs = $one->query_safe("select 'theirs'::regclass::oid");
like(told($node, "select zheap.zheap_page_$_($theirs, 0)"), qr/ERROR:  0A000: cannot access temporary tables of other sessions/, "$_ of another session's table") foreach qw(header items slots);
like(told($node, "select zheap.zheap_undo_chain($theirs, '(0,1)')"), qr/ERROR:  0A000: cannot access temporary tables of other sessions/, 'versions, too');

ask('create unlogged table u (id int) using zheap; insert into u values (1)');
is(ask("select kind, line_pointers from zheap.zheap_page_header('u', 0)"), 'table|1', 'an unlogged table');
my $standby = new_standby($node, 'standby');
ask("begin; update t set v = 'p' where id = 5; update t set v = 'q' where id = 5; prepare transaction 'p'");
caught_up($node, $standby);
foreach my $what ("header('t', 0)", "items('t', 0)", "slots('s', 0)")
{
	# checksums are set when a page is written; statuses depend on what a server knows of the horizon
	my $columns = $what =~ /header/ ? "kind, lsn, flags, lower, upper, special, slots, line_pointers, free_bytes, damage"
		: $what =~ /slots/ ? 'slot, place, slot_block, xid, undo, records' : '*';

	is($standby->safe_psql('postgres', "select $columns from zheap.zheap_page_$what"), ask("select $columns from zheap.zheap_page_$what"), "on a standby: $what");
}
is((join "\n", (split /\n/, chain($standby, 't', '(0,5)'))[ 0, 1 ]), (join "\n", (split /\n/, chain($node, 't', '(0,5)'))[ 0, 1 ]), 'on a standby: versions');
like(chain($standby, 't', '(0,5)'), qr/\Aother\|update\|in progress\|page\|q\nother\|update\|in progress\|undo\|p$/m, 'on a standby: of a prepared transaction');
is($standby->safe_psql('postgres', "select string_agg(r::text, ' ') from zheap.zheap_undo_records(32) r"), ask("select string_agg(r::text, ' ') from zheap.zheap_undo_records(32) r"), 'on a standby: undo');
like(told($standby, "select zheap.zheap_page_header('u', 0)"), qr/ERROR:  0A000: cannot access temporary or unlogged relations during recovery/, 'on a standby: an unlogged table');
$standby->stop;
ask("rollback prepared 'p'");

# ---- 5. damage ----

$_->quit foreach ($one, $two, $three, $old, $lockers, $own);
if (ask('show debug_assertions') eq 'on')
{
	$node->stop;
	no_crash_in_log($node, 'to the end');
	done_testing();
	exit;
}
ask("create table d (id int, n int) using zheap with (fillfactor = 60); insert into d select g, 0 from generate_series(1, 1000) g");
$old = session($node);
ask('checkpoint');
$old->query_safe('begin isolation level repeatable read; select count(*) from d');
ask('update d set n = 1 where id <= 20');
my $chain_tid = '(0,1)';
my ($undo_block, $undo_offset) = split m{/}, ask("select undo from zheap.zheap_undo_chain('d', '$chain_tid') where version = 2");
my $file = $node->data_dir . '/' . ask("select pg_relation_filepath('d')");
my $undo_file = $node->data_dir . '/' . ask("select pg_relation_filepath('zheap.undo')");
my $nslots = ask("select slots from zheap.zheap_page_header('d', 0)");
my $offset_of_row = ask("select lp_off from zheap.zheap_page_items('d', 0) where lp = 3");
$old->quit;

# Write bytes into the file of a stopped server, do something, and write back what was there.
sub with_damage
{
	my ($name, $path, $at, $bytes, $then) = @_;

	$node->stop;
	my $before = write_bytes($path, $at, $bytes);
	$node->start;
	$then->($name);
	$node->stop('immediate');
	write_bytes($path, $at, $before);
	$node->start;
	return;
}

sub header_says
{
	my ($pattern) = @_;

	return sub {
		my ($name) = @_;

		like(ask("select kind, damage from zheap.zheap_page_header('d', 0)"), $pattern, "$name: header");
		foreach my $call ("page_items('d', 0)", "page_slots('d', 0)", "undo_chain('d', '(0,1)')")
		{
			my $error = told($node, "select count(*) from zheap.zheap_$call");

			like($error, qr/^no error|ERROR:  XX001: .*(?:relation|table|block)|ERROR:  55000: block 0 of table "d" is (?:a page of zeros|not a page of rows)/, "$name: $call");
		}
		is(ask("select kind from zheap.zheap_page_header('d', 1)"), 'table', "$name: the next page");
	};
}

with_damage('zeros', $file, 0, "\0" x 8192, header_says(qr/^new\|$/));
with_damage('magic', $file, 8192 - 2, 'XX', header_says(qr/^unknown\|page is no zheap table page$/));
with_damage('version', $file, 8192 - 9, "\x63", header_says(qr/^table\|page has an unknown version$/));
with_damage('number of slots', $file, 16, pack('v', 8192 - 16 - 32 * 16), header_says(qr/^table\|page has an impossible number of transaction slots$/));
with_damage('pd_lower', $file, 12, pack('v', 20), header_says(qr/^table\|page boundaries are inconsistent$/));
with_damage('pd_special', $file, 16, pack('v', 9000), header_says(qr/^table\|/));
with_damage('header that the server refuses', $file, 10, pack('v', 0xFFFF), header_says(qr/^table\|the server cannot read the page, its header or checksum is wrong/));
with_damage('an owner to come', $file, 8192 - 16 - 16 * $nslots, pack('Q<', 1 << 40) x $nslots, header_says(qr/^table\|$/));
with_damage('an overflow page that is none', $file, 8192 - 8, pack('V', 1), header_says(qr/^table\|$/));
with_damage('an overflow page that does not exist', $file, 8192 - 8, pack('V', 100000), header_says(qr/^table\|$/));
with_damage('a row', $file, $offset_of_row + 2, "\xFF\xFF\xFF", sub {
	header_says(qr/^table\|offset 3: /)->(@_);
	is(ask("select lp, lp_flags, lp_off, flags is null, row_bytes is null from zheap.zheap_page_items('d', 0) where damage is not null"), "3|normal|$offset_of_row|t|t", 'the row is told of');
	like(told($node, "select zheap.zheap_undo_chain('d', '(0,3)')"), qr/ERROR:  XX001: .*"d", block 0, offset 3/, 'and has no versions');
	is(ask("select count(*) > 100 from zheap.zheap_page_items('d', 0) where damage is null"), 't', 'the others are shown');
});
with_damage('a line pointer', $file, 24 + 4 * 4, pack('V', 0xFFFFFFFF), sub {
	header_says(qr/^table\|offset 5: /)->(@_);
	is(ask("select lp from zheap.zheap_page_items('d', 0) where damage is not null"), '5', 'the line pointer is told of');
});
with_damage('random bytes', $file, 24, join('', map { chr($_ * 37 % 251) } 1 .. 8168), header_says(qr/^unknown\|/));
with_damage('an undo record', $undo_file, 8192 * $undo_block + $undo_offset + 3, "\xA5\xA5\xA5", sub {
	like(ask("select count(*) filter (where damage is not null), count(*) filter (where damage is null) > 0 from zheap.zheap_undo_records($undo_block)"), qr/^1\|t$/, 'a damaged undo record is told of');
	like(told($node, "select zheap.zheap_undo_chain('d', '$chain_tid')"), qr/no error|ERROR:  XX001/, 'versions end there');
});
with_damage('the length of an undo record', $undo_file, 8192 * $undo_block + $undo_offset, "\xFF\x7F", sub {
	like(ask("select damage from zheap.zheap_undo_records($undo_block) where damage is not null"), qr/^its length cannot be right/, 'nor does a length lead anywhere');
});
with_damage('an undo page', $undo_file, 8192 * $undo_block + 12, pack('v', 4000), sub {
	like(told($node, "select zheap.zheap_undo_records($undo_block)"), qr/ERROR:  XX001: .*relation "undo", block $undo_block/, 'a damaged undo page is an error');
});
with_damage('an undo page of zeros', $undo_file, 8192 * $undo_block, "\0" x 8192, sub {
	like(told($node, "select zheap.zheap_undo_records($undo_block)"), qr/ERROR:  55000: block $undo_block of the undo relation has no undo records\nDETAIL:  It is a page of zeros/, 'so is one of zeros');
});
is(ask("select damage is null from zheap.zheap_page_header('d', 0)"), 't', 'all is as it was');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
