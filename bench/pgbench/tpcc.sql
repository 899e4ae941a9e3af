-- one of TPC-C's five transactions, in the shares that the specification asks for at least
\set w random(1, :warehouses)
\set kind random(1, 100)
\if :kind <= 45
SELECT tpcc_new_order(:w, :warehouses);
\elif :kind <= 88
SELECT tpcc_payment(:w, :warehouses);
\elif :kind <= 92
SELECT tpcc_order_status(:w);
\elif :kind <= 96
SELECT tpcc_delivery(:w);
\else
SELECT tpcc_stock_level(:w);
\endif
