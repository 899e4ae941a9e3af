-- one row of many that an index has in another order than the table
\set k random(1, :rows)
SELECT pad FROM cold WHERE k >= :k ORDER BY k LIMIT 1;
