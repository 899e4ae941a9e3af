# The first use of zheap in a transaction fails, and the transaction goes on after a savepoint: the next use begins anew.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $primary = new_server('primary', [ 'autovacuum = off', 'wal_keep_size = 1GB', 'zheap.undo_workers = 0' ], allows_streaming => 1);

$primary->safe_psql('postgres', 'create table t (id int) using zheap; insert into t select generate_series(1, 100)');
my $standby = new_standby($primary, 'standby', 'max_standby_streaming_delay = 600s');
caught_up($primary, $standby);

# ---- a standby's session cannot find out which database it is in ----

my $reader = session($standby);
my $other = session($standby);
my $holder = session($primary);
$primary->safe_psql('postgres', 'alter database postgres connection limit 50');
$holder->query_safe('begin; lock table pg_database in access exclusive mode');
ok(wait_until(sub { answer_in($other, "select count(*) from pg_locks where relation = 'pg_database'::regclass and mode = 'AccessExclusiveLock'") eq '1' }),
	'the standby has the lock');
like(answer_in($reader, "begin; set local lock_timeout = '500ms'; savepoint a; select count(*) from t"), qr/lock timeout/, 'the first use fails');
$holder->query_safe('commit');
caught_up($primary, $standby);
is(answer_in($reader, 'rollback to a; select count(*) from t'), '100', 'the second one does not');
is(answer_in($reader, 'commit; select count(*) from t'), '100', 'nor those after it');
$_->quit foreach $reader, $other, $holder;
no_crash_in_log($standby, 'standby');
$standby->stop;

# ---- the undo relation cannot be read, when nothing is known of it ----

my $file = $primary->data_dir . '/' . $primary->safe_psql('postgres', "select pg_relation_filepath('zheap.undo')");
$primary->safe_psql('postgres', 'vacuum zheap.undo');
$primary->restart;
my $session = session($primary);
rename $file, "$file.away" or die $!;
like(answer_in($session, 'begin; savepoint a; select count(*) from t'), qr/could not open file/, 'the first use fails');
rename "$file.away", $file or die $!;
is(answer_in($session, 'rollback to a; select count(*) from t'), '100', 'the second one does not');
is(answer_in($session, 'select count(*) from t; insert into t values (0); commit; select count(*) from t'), "100\n101", 'and it has all that it needs');
$session->quit;
no_crash_in_log($primary, 'primary');
$primary->stop;
done_testing();
